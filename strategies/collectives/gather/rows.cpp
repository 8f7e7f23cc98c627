#include "strategies/collectives/rows.hpp"

/// The gather rows in the order of the table; each stands at the end of its algorithm's file.
/// Algorithms are pure and take n >= 1 ranks, 0 <= root < n; one rank alone has nothing to do.
namespace lockstep {

CollectiveAlgorithm gather_flat_row();
CollectiveAlgorithm gather_direct_row();
CollectiveAlgorithm gather_binomial_row();
CollectiveAlgorithm gather_copy_engine_row();

std::vector<CollectiveAlgorithm> gather_rows() {
  return {
      gather_flat_row(),
      gather_direct_row(),
      gather_binomial_row(),
      gather_copy_engine_row(),
  };
}

}  // namespace lockstep
