#include "strategies/collectives/rows.hpp"

/// The scatter rows in the order of the table; each stands at the end of its algorithm's file.
/// Algorithms are pure and take n >= 1 ranks, 0 <= root < n; one rank alone has nothing to do.
namespace lockstep {

CollectiveAlgorithm scatter_flat_row();
CollectiveAlgorithm scatter_direct_row();
CollectiveAlgorithm scatter_binomial_row();
CollectiveAlgorithm scatter_copy_engine_row();

std::vector<CollectiveAlgorithm> scatter_rows() {
  return {
      scatter_flat_row(),
      scatter_direct_row(),
      scatter_binomial_row(),
      scatter_copy_engine_row(),
  };
}

}  // namespace lockstep
