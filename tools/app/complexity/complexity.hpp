#pragma once

#include <optional>
#include <string>
#include <vector>

#include "strategies/collectives/registry/spec.hpp"
#include "strategies/collectives/sizing.hpp"
#include "tools/app/collective/setup/collective_setup.hpp"
#include "tools/app/complexity/complexity_fit.hpp"
#include "tools/app/progress.hpp"

namespace lockstep::app {

/// What is to be measured; everything checked that needs no cluster.
struct ComplexityRequest {
  Collective collective = Collective::all_reduce;
  ClusterRequest cluster;  // of free size
  NetworkRequest network;
  std::vector<AlgorithmSpec> algorithms;
  std::vector<int> ranks;  // ascending
  bool every_row = false;  // algorithms that the cluster cannot have are left out
  int root = 0;
  Bytes small;
  Bytes large;
  const ElementType* type = find_element_type("float");
  OnProgress on_progress{};
};

/// One algorithm on so many ranks.
struct ComplexityPoint {
  int ranks = 0;
  std::optional<std::int64_t> rounds;  // of a small message; none: too many to follow
  std::int64_t messages = 0;           // this and the rest: of a large message
  Bytes busiest;  // sent and received by the node that does most, auxiliary ranks included
  Bytes total;    // sent by all
  std::optional<Duration> small_time;  // none: too many messages for the engine
  std::optional<Duration> large_time;
};

/// One algorithm on all of them.
struct ComplexityOutcome {
  AlgorithmSpec spec;
  std::vector<ComplexityPoint> points;
  std::optional<GrowthFit> rounds;  // none: too few points
  std::optional<GrowthFit> small_time;
  std::optional<GrowthFit> busiest;
  std::optional<GrowthFit> total;
  std::optional<GrowthFit> large_time;
  /// The class of the time of any fixed message as N grows without bound: of the counted rounds
  /// (latency) or of the busiest node's bytes (bandwidth), whichever grows faster. A large message
  /// may show it only beyond the measured range. None: too few points to tell.
  std::optional<Growth> asymptotic_time;
};

struct ComplexityResult {
  std::string cluster;  // "star (host), network fluid, routes auto"
  std::vector<ComplexityOutcome> outcomes;
  std::vector<std::string> left_out;  // and why
};

/// Both messages are cut as `lockstep collective` cuts them, into whole elements, so that times are
/// the same.
/// Throws RequestError, ConfigError, Refusal.
[[nodiscard]] ComplexityResult measure_complexity(const ComplexityRequest& request);

}  // namespace lockstep::app
