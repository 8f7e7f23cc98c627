#include "strategies/collectives/rows.hpp"

/// The reduce rows in the order of the table; each stands at the end of its algorithm's file.
namespace lockstep {

CollectiveAlgorithm reduce_flat_row();
CollectiveAlgorithm reduce_binomial_row();
CollectiveAlgorithm reduce_chain_row();
CollectiveAlgorithm reduce_reduce_scatter_gather_row();

std::vector<CollectiveAlgorithm> reduce_rows() {
  return {
      reduce_flat_row(),
      reduce_binomial_row(),
      reduce_chain_row(),
      reduce_reduce_scatter_gather_row(),
  };
}

}  // namespace lockstep
