#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "strategies/collectives/registry/spec.hpp"
#include "strategies/collectives/sizing.hpp"
#include "strategies/interop/msccl/msccl.hpp"
#include "tools/app/collective/setup/collective_setup.hpp"

namespace lockstep::app {

/// A schedule from a file in the form of an algorithm: its row has no closed form.
struct ImportedAlgorithm {
  MscclImport import;
  CollectiveAlgorithm row{};

  ImportedAlgorithm(MscclImport read, Collective collective);
  ImportedAlgorithm(const ImportedAlgorithm&) = delete;  // the row refers to the name
  ImportedAlgorithm& operator=(const ImportedAlgorithm&) = delete;
};

/// An algorithm and a cluster; validated as far as possible without loading the cluster.
struct StageRequest {
  ClusterRequest cluster;
  NetworkRequest network;
  AlgorithmSpec spec;
  std::shared_ptr<const ImportedAlgorithm> imported{};  // instead; `spec` names its row
  int root = 0;
  Bytes size;
  const ElementType* type = nullptr;
  std::optional<int> ranks_per_node;  // overrides the cluster's, for the algorithm only
  std::vector<int> dimensions;        // the same for a torus; empty: the cluster's
};

/// One algorithm on one cluster at one size, ready to be executed.
struct Stage {
  std::shared_ptr<const CollectiveSetup> setup;
  AlgorithmInput input;
  SchedulePtr schedule;
  std::vector<EndpointId> members;
  MessageLayout layout;
};

/// Simulated time of a stage and its breakdown.
struct StageReplay {
  Duration time;
  std::string busiest_link;
  double busy = 0;  // fraction of the time in which the busiest link is busy, at most 1
  std::uint64_t messages = 0;
};

/// Throws RequestError if cluster and algorithm do not fit, ConfigError.
[[nodiscard]] Stage make_stage(const StageRequest& request);
/// Throws Refusal if the replay deadlocks.
[[nodiscard]] StageReplay replay_stage(const Stage& stage, NetworkModel model);

}  // namespace lockstep::app
