#include "strategies/collectives/rows.hpp"

/// The reduce-scatter rows in the order of the table; each stands at the end of its algorithm's
/// file.
namespace lockstep {

CollectiveAlgorithm reduce_scatter_ring_row();
CollectiveAlgorithm reduce_scatter_recursive_halving_row();
CollectiveAlgorithm reduce_scatter_bruck_row();
CollectiveAlgorithm reduce_scatter_direct_row();
CollectiveAlgorithm reduce_scatter_pat_row();
CollectiveAlgorithm reduce_scatter_nvls_row();
CollectiveAlgorithm reduce_scatter_sharp_row();

std::vector<CollectiveAlgorithm> reduce_scatter_rows() {
  return {
      reduce_scatter_ring_row(),  reduce_scatter_recursive_halving_row(),
      reduce_scatter_bruck_row(), reduce_scatter_direct_row(),
      reduce_scatter_pat_row(),   reduce_scatter_nvls_row(),
      reduce_scatter_sharp_row(),
  };
}

}  // namespace lockstep
