#pragma once

#include <optional>
#include <string>
#include <vector>

#include "strategies/collectives/registry/spec.hpp"
#include "strategies/collectives/sizing.hpp"
#include "tools/app/collective/setup/collective_setup.hpp"
#include "tools/app/complexity/complexity_fit.hpp"
#include "tools/app/errors.hpp"
#include "tools/app/progress.hpp"

namespace lockstep::app {

/// What to measure; validated as far as possible without a cluster.
struct ComplexityRequest {
  Collective collective = Collective::all_reduce;
  ClusterRequest cluster;  // without a fixed size
  /// Instead of `cluster`, one for each of `ranks`: of shapes that differ, such as tori.
  std::vector<ClusterRequest> clusters{};
  NetworkRequest network;
  std::vector<AlgorithmSpec> algorithms;
  std::vector<int> ranks;  // ascending
  bool every_row = false;  // skip algorithms that the cluster does not allow
  int root = 0;
  Bytes small;
  Bytes large;
  const ElementType* type = find_element_type("float");
  OnProgress on_progress{};
};

/// One algorithm on one number of ranks.
struct ComplexityPoint {
  int ranks = 0;
  std::optional<std::int64_t> rounds;  // of a small message; none: too many to count
  std::int64_t messages = 0;           // this and the following: of a large message
  Bytes busiest;       // sent plus received, maximum over nodes, auxiliary ranks included
  Bytes busiest_rank;  // the same over ranks alone
  Bytes total;         // sent by all ranks
  std::optional<Duration> small_time;  // none: too many messages to simulate
  std::optional<Duration> large_time;
};

/// One algorithm on all numbers of ranks.
struct ComplexityOutcome {
  AlgorithmSpec spec;
  std::vector<ComplexityPoint> points;
  std::optional<GrowthFit> rounds;  // none: too few points
  std::optional<GrowthFit> small_time;
  std::optional<GrowthFit> busiest;
  std::optional<GrowthFit> total;
  std::optional<GrowthFit> large_time;
  /// Asymptotic class of the time of a fixed message size: of the counted rounds (latency) or of
  /// the busiest node's bytes (bandwidth), whichever grows faster. Switches that reduce have a port
  /// for each rank: there the busiest rank's bytes count. For a large message it may only
  /// show beyond the measured range. None: too few points.
  std::optional<Growth> asymptotic_time;
};

/// An algorithm without a point at some numbers of ranks.
struct UnmeasuredRanks {
  AlgorithmSpec spec;
  bool all = false;        // at all numbers of ranks
  std::size_t count = 0;   // of numbers of ranks
  int first = 0;           // the lowest
  RequestProblem problem;  // there
};

struct ComplexityResult {
  /// The cluster at the most ranks that have a point; none: no point.
  std::optional<SetupNames> setup{};
  std::vector<ComplexityOutcome> outcomes;
  std::vector<UnmeasuredRanks> unmeasured{};
};

/// Both messages are divided as by `lockstep collective`, so that times agree. Throws RequestError,
/// ConfigError, Refusal.
[[nodiscard]] ComplexityResult measure_complexity(const ComplexityRequest& request);

}  // namespace lockstep::app
