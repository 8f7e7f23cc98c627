#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/app/explain/explain_stage.hpp"
#include "tools/app/explain/traffic_count.hpp"

namespace lockstep::app {

/// One term of a closed form with the numbers put in.
struct CostTerm {
  std::string name;    // "latency"
  std::string symbol;  // "rounds * alpha"
  std::string amount;  // "6 rounds"
  std::string each;    // "2 us"
  Duration time;
};

/// Something that no schedule can beat.
struct BoundTerm {
  std::string name;  // "bandwidth"
  std::string from;  // "of the ports"
  Duration time;
};

/// What an algorithm costs at one size, and why.
struct ExplainedCost {
  std::vector<std::string> model;   // what alpha, beta and gamma are on this cluster
  std::vector<CostTerm> terms;      // empty where the algorithm has no closed form
  std::optional<Duration> formula;  // their sum
  bool near = false;                // the formula is an estimate
  std::optional<StageReplay> simulated;
  std::optional<Duration> ports_only;   // where that is not the formula: with ports as only limits
  std::vector<std::string> comparison;  // of the two, in words
  std::vector<BoundTerm> bounds;        // empty where none is known
  std::optional<TrafficCount> traffic;
};

/// `replayed`: time it in the engine too.
[[nodiscard]] ExplainedCost explain_cost(const Stage& stage, const CollectiveAlgorithm& algorithm,
                                         bool replayed);

}  // namespace lockstep::app
