#include "strategies/collectives/rows.hpp"

/// The all-to-all rows in the order of the table; each stands at the end of its algorithm's file.
namespace lockstep {

CollectiveAlgorithm all_to_all_pairwise_row();
CollectiveAlgorithm all_to_all_direct_row();
CollectiveAlgorithm all_to_all_bruck_row();
CollectiveAlgorithm all_to_all_hierarchical_row();
CollectiveAlgorithm all_to_all_copy_engine_row();

std::vector<CollectiveAlgorithm> all_to_all_rows() {
  return {
      all_to_all_pairwise_row(),     all_to_all_direct_row(),      all_to_all_bruck_row(),
      all_to_all_hierarchical_row(), all_to_all_copy_engine_row(),
  };
}

}  // namespace lockstep
