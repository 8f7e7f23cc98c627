#include "strategies/collectives/rows.hpp"

/// The broadcast rows in the order of the table; each stands at the end of its algorithm's file.
namespace lockstep {

CollectiveAlgorithm broadcast_flat_row();
CollectiveAlgorithm broadcast_binomial_row();
CollectiveAlgorithm broadcast_chain_row();
CollectiveAlgorithm broadcast_binary_tree_row();
CollectiveAlgorithm broadcast_scatter_all_gather_row();
CollectiveAlgorithm broadcast_scatter_doubling_row();

std::vector<CollectiveAlgorithm> broadcast_rows() {
  return {
      broadcast_flat_row(),
      broadcast_binomial_row(),
      broadcast_chain_row(),
      broadcast_binary_tree_row(),
      broadcast_scatter_all_gather_row(),
      broadcast_scatter_doubling_row(),
  };
}

}  // namespace lockstep
