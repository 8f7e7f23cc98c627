#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "strategies/collectives/registry/spec.hpp"
#include "strategies/collectives/sizing.hpp"
#include "tools/app/collective/setup/collective_setup.hpp"

namespace lockstep::app {

/// What is to be played, and where; everything checked that needs no cluster.
struct StageRequest {
  ClusterRequest cluster;
  NetworkRequest network;
  AlgorithmSpec spec;
  int root = 0;
  Bytes size;
  const ElementType* type = nullptr;
  std::optional<int> ranks_per_node;  // in place of the cluster's, as far as the algorithm goes
  std::vector<int> dimensions;        // likewise; empty: the cluster's
};

/// One algorithm on one cluster at one size, ready to be played.
struct Stage {
  std::shared_ptr<const CollectiveSetup> setup;
  AlgorithmInput input;
  SchedulePtr schedule;
  std::vector<EndpointId> members;
  MessageLayout layout;
};

/// How long the engine takes for it, and where that time goes.
struct StageReplay {
  Duration time;
  std::string busiest_link;
  double busy = 0;  // share of the time that it would take the busiest link alone, 1 at most
  std::uint64_t messages = 0;
};

/// Throws RequestError where the cluster and the algorithm do not fit, ConfigError.
[[nodiscard]] Stage make_stage(const StageRequest& request);
/// Throws Refusal if the replay deadlocks.
[[nodiscard]] StageReplay replay_stage(const Stage& stage, NetworkModel model);

}  // namespace lockstep::app
