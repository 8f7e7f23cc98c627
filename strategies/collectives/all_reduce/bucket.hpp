#pragma once

#include <vector>

#include "strategies/collectives/cost.hpp"
#include "strategies/collectives/schedules/halves.hpp"

namespace lockstep {

/// The bucket all-reduce over a grid of ranks: ring reduce-scatters along one dimension after the
/// other, each on what the one before left, then ring all-gathers back.
struct Bucket {
  std::vector<int> sizes{};  // of the grid's dimensions, consecutive ranks along the first
  std::vector<int> order{};  // in which the dimensions are passed; none: as they come
  RingWay way = RingWay::up;
};

/// As many blocks as ranks.
[[nodiscard]] SchedulePtr make_bucket(const Bucket& bucket);

/// On any order. Rounds 2*sum(p-1), blocks 2(n-1): those of a ring.
[[nodiscard]] CollectiveCost bucket_cost(const std::vector<int>& sizes);

/// Dimensions to use where `dims` is not given: the torus, else ranks of a node by nodes.
[[nodiscard]] std::vector<int> grid_of(const AlgorithmInput& input);
/// Why there are none: `dims` is not given and nodes differ in size.
[[nodiscard]] std::optional<std::string> grid_refusal(const AlgorithmInput& input);

}  // namespace lockstep
