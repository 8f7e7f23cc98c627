#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/app/explain/explain_stage.hpp"
#include "tools/app/explain/traffic_count.hpp"

namespace lockstep::app {

/// One term of a closed form with its numbers.
struct CostTerm {
  enum class Kind : std::uint8_t { latency, sending, reduction } kind = Kind::latency;
  std::int64_t count = 0;      // rounds, or blocks sent or reduced
  Bytes block{};               // of a block
  Duration alpha{};            // per round
  std::optional<Rate> rate{};  // of sending or reducing; none: takes no time
  Duration time{};
};

/// One term of the lower bound.
struct BoundTerm {
  enum class Kind : std::uint8_t {
    latency,    // longest path between two ranks that must exchange data
    bandwidth,  // bytes through the tightest cut
    reduction,  // all reductions, shared by all ranks
  } kind = Kind::latency;
  Duration time;
  std::string cut{};                 // of bandwidth: the tightest, "ports of rank 3"
  bool reduced_in_switches = false;  // of bandwidth: bytes count after reduction in switches
};

/// Cost of an algorithm at one size, with its terms.
struct ExplainedCost {
  std::optional<AlphaBeta> hop{};   // alpha, beta and gamma on this cluster; none: one rank
  int hop_to = 0;                   // the route from rank 0 from which these are
  std::vector<CostTerm> terms;      // empty if the algorithm has no closed form
  std::optional<Duration> formula;  // their sum
  bool near = false;                // the formula is an estimate
  std::optional<StageReplay> simulated;
  std::int64_t rounds = 0;  // of the formula: differences of a picosecond each are rounding
  std::optional<Duration> ports_only;  // if not the formula: time with port limits only
  std::vector<BoundTerm> bounds;       // empty if unknown
  std::optional<TrafficCount> traffic;
};

/// Whether two times differ by no more than the rounding of so many rounds.
[[nodiscard]] bool agree(Duration a, Duration b, std::int64_t rounds);

/// `replayed`: also simulate it in the engine.
[[nodiscard]] ExplainedCost explain_cost(const Stage& stage, const CollectiveAlgorithm& algorithm,
                                         bool replayed);

}  // namespace lockstep::app
