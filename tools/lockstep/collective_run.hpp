#pragma once

#include <string>
#include <vector>

#include "sim/engine/replay.hpp"
#include "strategies/collectives/sizing.hpp"
#include "strategies/collectives/spec.hpp"
#include "tools/lockstep/cluster_options.hpp"
#include "tools/lockstep/output.hpp"

namespace lockstep::cli {

/// What `lockstep collective` is asked, everything checked that needs no cluster.
struct CollectiveQuestion {
  Collective collective = Collective::all_reduce;
  ClusterOptions cluster;
  RoutePolicy policy = RoutePolicy::automatic;
  std::vector<AlgorithmSpec> algorithms;
  std::vector<Bytes> sizes;
  const ElementType* type = nullptr;
  NetworkModel model = NetworkModel::fluid;
  std::string network;  // the model's name
  Duration skew;
  bool check = false;
  bool load = false;
};

/// Replays every algorithm at every size. Throws UsageError where an algorithm cannot be had with
/// so many ranks, Refusal where a replay cannot end or --check finds a wrong element.
[[nodiscard]] Report run_collective(const CollectiveQuestion& question);

}  // namespace lockstep::cli
