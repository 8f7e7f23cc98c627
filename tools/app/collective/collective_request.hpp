#pragma once

#include <optional>
#include <string>
#include <vector>

#include "strategies/collectives/registry/spec.hpp"
#include "strategies/collectives/sizing.hpp"
#include "tools/app/collective/collective_runner.hpp"
#include "tools/app/collective/setup/collective_setup.hpp"
#include "tools/app/collective/setup/rank_settings.hpp"
#include "tools/app/progress.hpp"

namespace lockstep::app {

/// Candidates and message sizes to simulate on a cluster.
struct CollectiveRequest {
  ClusterRequest cluster;
  NetworkRequest network;
  NcclRequest nccl;
  std::vector<Candidate> candidates;  // collective by collective
  bool every_row = false;             // skip candidates that the cluster does not allow
  std::vector<Bytes> sizes;
  const ElementType* type = find_element_type("float");
  int root = 0;

  /// Options of the replay.
  [[nodiscard]] CollectiveRunner::Options runner_options() const {
    CollectiveRunner::Options out{type, root,  skew,        cluster.seed, nullptr,
                                  fold, ranks, most_memory, step_ends};
    for (const Candidate& each : candidates)
      if (each.kind == Candidate::Kind::nccl) out.nccl = &nccl;
    return out;
  }

  Duration skew;
  Bytes most_memory = kMostMemory;
  bool check = false;                   // also execute on real numbers
  bool load = false;                    // also compute busiest-link loads
  bool fold = true;                     // by equivalence classes
  bool step_ends = false;               // FoldReport::step_ends
  std::vector<RankSettingRange> ranks;  // with individual parameters
  OnProgress on_progress{};             // of several algorithms or sizes
  OnPhase on_phase{};                   // of one algorithm at one size
};

}  // namespace lockstep::app
