#pragma once

#include <vector>

#include "strategies/collectives/cost.hpp"
#include "strategies/collectives/schedules/halves.hpp"

namespace lockstep {

/// Bucket all-reduce over a grid of ranks: a ring reduce-scatter along each dimension in turn, then
/// ring all-gathers in reverse order.
struct Bucket {
  std::vector<int> sizes{};  // of the grid; the first dimension varies fastest
  std::vector<int> order{};  // of the dimensions; empty: ascending
  RingWay way = RingWay::up;
};

/// The schedule has one block per rank.
[[nodiscard]] SchedulePtr make_bucket(const Bucket& bucket);

/// For any order. Rounds 2*sum(p-1), blocks 2(n-1), as in a ring.
[[nodiscard]] CollectiveCost bucket_cost(const std::vector<int>& sizes);

/// Dimensions if `dims` is absent: the torus, else ranks per node by nodes.
[[nodiscard]] std::vector<int> grid_of(const AlgorithmInput& input);
/// Why there are none: `dims` is absent and nodes differ in size.
[[nodiscard]] std::optional<std::string> grid_refusal(const AlgorithmInput& input);

}  // namespace lockstep
