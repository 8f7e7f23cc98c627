#include "strategies/collectives/rows.hpp"

/// The all-gather rows in the order of the table; each stands at the end of its algorithm's file.
namespace lockstep {

CollectiveAlgorithm all_gather_ring_row();
CollectiveAlgorithm all_gather_recursive_doubling_row();
CollectiveAlgorithm all_gather_bruck_row();
CollectiveAlgorithm all_gather_direct_row();
CollectiveAlgorithm all_gather_neighbour_exchange_row();
CollectiveAlgorithm all_gather_pat_row();
CollectiveAlgorithm all_gather_nvls_row();
CollectiveAlgorithm all_gather_sharp_row();
CollectiveAlgorithm all_gather_copy_engine_row();

std::vector<CollectiveAlgorithm> all_gather_rows() {
  return {
      all_gather_ring_row(),
      all_gather_recursive_doubling_row(),
      all_gather_bruck_row(),
      all_gather_direct_row(),
      all_gather_neighbour_exchange_row(),
      all_gather_pat_row(),
      all_gather_nvls_row(),
      all_gather_sharp_row(),
      all_gather_copy_engine_row(),
  };
}

}  // namespace lockstep
