#include "strategies/collectives/rows.hpp"

/// The barrier rows in the order of the table; each stands at the end of its algorithm's file.
namespace lockstep {

CollectiveAlgorithm barrier_flat_row();
CollectiveAlgorithm barrier_binomial_row();
CollectiveAlgorithm barrier_dissemination_row();

std::vector<CollectiveAlgorithm> barrier_rows() {
  return {
      barrier_flat_row(),
      barrier_binomial_row(),
      barrier_dissemination_row(),
  };
}

}  // namespace lockstep
