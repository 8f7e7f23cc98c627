#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "topologies/graph/cluster.hpp"

namespace lockstep::app {

/// How jobs get their GPUs. packed: one job after the other. spread: nodes in turn, the first to
/// the first job, the second to the second. random: nodes in a random order. Where a job does not
/// fill whole nodes, GPUs are dealt instead of nodes. listed: as given.
enum class PlacementPolicy : std::uint8_t { packed, spread, random, listed };

struct PlacementRequest {
  PlacementPolicy policy = PlacementPolicy::packed;
  std::uint64_t seed = 1;                  // of random
  std::vector<std::vector<int>> listed{};  // GPUs by job
};

/// GPUs of the ranks of each job, in order. `sizes`: number of ranks by job. Throws RequestError
/// where they do not fit, or listed GPUs are too few, too many, twice or not there.
[[nodiscard]] std::vector<std::vector<EndpointId>> place_jobs(const PlacementRequest& request,
                                                              const std::vector<int>& sizes,
                                                              const Cluster& cluster);

}  // namespace lockstep::app
