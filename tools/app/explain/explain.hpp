#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/execute/schedule_checks/rounds.hpp"
#include "tools/app/explain/explain_cost.hpp"
#include "tools/app/explain/explain_stage.hpp"

namespace lockstep::app {

/// Rounds first .. last, counted from 1.
struct RoundRange {
  std::int64_t first = 1;
  std::int64_t last = 1;
};

struct ExplainRequest {
  StageRequest stage;
  std::optional<RoundRange> rounds;  // none: all, or the first and the last of many
};

/// What each shown rank holds in each shown column, in the notation of HoldingText.
using HoldingTable = std::vector<std::vector<std::string>>;

struct ExplainedRound {
  Round round;
  HoldingTable after;
};

/// What distinguishes messages of a schedule.
struct RoundDetails {
  bool lanes = false;
  bool channels = false;
};

/// What an algorithm does, from the first message to the cost.
struct Explanation {
  Stage stage;
  ExplainRequest request;
  RoundDetails details;
  std::vector<std::string> columns;      // of the tables: chunks; "..." for what is left out
  std::vector<std::optional<int>> rows;  // ranks; none for what is left out
  HoldingTable start;
  std::vector<ExplainedRound> rounds;  // that are shown
  std::int64_t total_rounds = 0;
  std::vector<Round> events;       // of the rounds asked for, for programs
  std::vector<std::string> notes;  // what is left out and why
  std::string verdict;             // on the result
  ExplainedCost cost;
};

/// Plays the algorithm round by round and in the engine. Throws RequestError, ConfigError, Refusal.
[[nodiscard]] Explanation explain(const ExplainRequest& request);

}  // namespace lockstep::app
