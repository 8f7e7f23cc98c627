#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/execute/schedule_checks/rounds.hpp"
#include "tools/app/explain/explain_cost.hpp"
#include "tools/app/explain/explain_stage.hpp"

namespace lockstep::app {

/// Rounds first .. last, 1-based.
struct RoundRange {
  std::int64_t first = 1;
  std::int64_t last = 1;
};

struct ExplainRequest {
  StageRequest stage;
  std::optional<RoundRange> rounds;  // none: all, or the first and last of many
  bool all_places = false;           // tables with every rank and chunk, not with the ends of many
};

/// Contents of each shown rank and column, in the notation of HoldingText.
using HoldingTable = std::vector<std::vector<std::string>>;

struct ExplainedRound {
  Round round;
  HoldingTable after;
};

/// How many of the ranks or chunks the tables show.
struct ShownPlaces {
  std::size_t shown = 0;
  std::size_t total = 0;
};

/// What an explanation omits, and why.
struct ExplanationOmissions {
  bool rounds_too_large = false;        // no round is executed
  std::optional<ShownPlaces> ranks{};   // none: all are shown
  std::optional<ShownPlaces> chunks{};  // the same
  std::optional<RoundRange> rounds{};   // in the middle of many
  bool too_many_to_simulate = false;    // messages
};

/// Which properties of messages vary in a schedule.
struct RoundDetails {
  bool lanes = false;
  bool channels = false;
};

/// An explained algorithm, from its messages to its cost.
struct Explanation {
  Stage stage;
  ExplainRequest request;
  RoundDetails details;
  std::vector<std::string> columns;      // chunks, as heads of tables; "..." for omitted ones
  std::vector<std::optional<int>> rows;  // ranks; none for omitted ones
  HoldingTable start;
  std::vector<ExplainedRound> rounds;  // the shown ones
  std::int64_t total_rounds = 0;
  std::vector<Round> events;  // of the requested rounds, machine-readable
  ExplanationOmissions omitted;
  bool verified = false;  // after all rounds every rank holds what the collective requires
  ExplainedCost cost;
};

/// Executes the algorithm round by round and in the engine. Throws RequestError, ConfigError,
/// Refusal (also if a rank ends without what the collective requires).
[[nodiscard]] Explanation explain(const ExplainRequest& request);

}  // namespace lockstep::app
