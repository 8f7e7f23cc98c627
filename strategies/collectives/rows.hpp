#pragma once

#include <vector>

#include "strategies/collectives/algorithm.hpp"

/// The registry's rows per collective. Each folder's rows.cpp lists them; each algorithm's file
/// ends with its own.
namespace lockstep {

[[nodiscard]] std::vector<CollectiveAlgorithm> all_reduce_rows();
[[nodiscard]] std::vector<CollectiveAlgorithm> reduce_scatter_rows();
[[nodiscard]] std::vector<CollectiveAlgorithm> all_gather_rows();
[[nodiscard]] std::vector<CollectiveAlgorithm> broadcast_rows();
[[nodiscard]] std::vector<CollectiveAlgorithm> reduce_rows();
[[nodiscard]] std::vector<CollectiveAlgorithm> scatter_rows();
[[nodiscard]] std::vector<CollectiveAlgorithm> gather_rows();
[[nodiscard]] std::vector<CollectiveAlgorithm> all_to_all_rows();
[[nodiscard]] std::vector<CollectiveAlgorithm> send_recv_rows();
[[nodiscard]] std::vector<CollectiveAlgorithm> barrier_rows();

}  // namespace lockstep
