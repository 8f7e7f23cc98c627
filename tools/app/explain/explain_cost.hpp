#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/app/explain/explain_stage.hpp"
#include "tools/app/explain/traffic_count.hpp"

namespace lockstep::app {

/// One term of a closed form with its numbers.
struct CostTerm {
  std::string name;    // "latency"
  std::string symbol;  // "rounds * alpha"
  std::string amount;  // "6 rounds"
  std::string each;    // "2 us"
  Duration time;
};

/// One term of the lower bound.
struct BoundTerm {
  std::string name;  // "bandwidth"
  std::string from;  // "of the ports"
  Duration time;
};

/// Cost of an algorithm at one size, with its terms.
struct ExplainedCost {
  std::vector<std::string> model;   // values of alpha, beta and gamma on this cluster
  std::vector<CostTerm> terms;      // empty if the algorithm has no closed form
  std::optional<Duration> formula;  // their sum
  bool near = false;                // the formula is an estimate
  std::optional<StageReplay> simulated;
  std::optional<Duration> ports_only;   // if not the formula: time with port limits only
  std::vector<std::string> comparison;  // of both, in words
  std::vector<BoundTerm> bounds;        // empty if unknown
  std::optional<TrafficCount> traffic;
};

/// `replayed`: also simulate it in the engine.
[[nodiscard]] ExplainedCost explain_cost(const Stage& stage, const CollectiveAlgorithm& algorithm,
                                         bool replayed);

}  // namespace lockstep::app
