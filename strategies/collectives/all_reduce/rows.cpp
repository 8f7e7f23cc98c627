#include "strategies/collectives/rows.hpp"

/// The all-reduce rows in the order of the table; each stands at the end of its algorithm's file.
namespace lockstep {

CollectiveAlgorithm all_reduce_naive_row();
CollectiveAlgorithm all_reduce_parameter_server_row();
CollectiveAlgorithm all_reduce_one_shot_row();
CollectiveAlgorithm all_reduce_direct_row();
CollectiveAlgorithm all_reduce_ring_row();
CollectiveAlgorithm all_reduce_bidirectional_ring_row();
CollectiveAlgorithm all_reduce_recursive_doubling_row();
CollectiveAlgorithm all_reduce_halving_doubling_row();
CollectiveAlgorithm all_reduce_halving_doubling_near_row();
CollectiveAlgorithm all_reduce_swing_row();
CollectiveAlgorithm all_reduce_swing_latency_row();
CollectiveAlgorithm all_reduce_binomial_tree_row();
CollectiveAlgorithm all_reduce_binary_tree_row();
CollectiveAlgorithm all_reduce_double_binary_tree_row();
CollectiveAlgorithm all_reduce_hierarchical_row();
CollectiveAlgorithm all_reduce_blueconnect_row();
CollectiveAlgorithm all_reduce_torus_row();
CollectiveAlgorithm all_reduce_nvls_row();
CollectiveAlgorithm all_reduce_sharp_row();

std::vector<CollectiveAlgorithm> all_reduce_rows() {
  return {
      all_reduce_naive_row(),
      all_reduce_parameter_server_row(),
      all_reduce_one_shot_row(),
      all_reduce_direct_row(),
      all_reduce_ring_row(),
      all_reduce_bidirectional_ring_row(),
      all_reduce_recursive_doubling_row(),
      all_reduce_halving_doubling_row(),
      all_reduce_halving_doubling_near_row(),
      all_reduce_swing_row(),
      all_reduce_swing_latency_row(),
      all_reduce_binomial_tree_row(),
      all_reduce_binary_tree_row(),
      all_reduce_double_binary_tree_row(),
      all_reduce_hierarchical_row(),
      all_reduce_blueconnect_row(),
      all_reduce_torus_row(),
      all_reduce_nvls_row(),
      all_reduce_sharp_row(),
  };
}

}  // namespace lockstep
