#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/execute/host/schedule/rounds.hpp"
#include "tools/lockstep/explain/explain_cost.hpp"
#include "tools/lockstep/explain/explain_stage.hpp"
#include "tools/lockstep/explain/explain_words.hpp"

namespace lockstep::cli {

/// Rounds first .. last, counted from 1.
struct RoundRange {
  std::int64_t first = 1;
  std::int64_t last = 1;
};

struct ExplainQuestion {
  StageRequest stage;
  std::optional<RoundRange> rounds;  // none: all, or the first and the last of many
};

/// One line of text for each row, one cell for each column of Explanation.
using HoldingTable = std::vector<std::vector<std::string>>;

struct ExplainedRound {
  std::int64_t number = 0;
  std::vector<std::string> lines;  // what happens
  std::size_t lines_left_out = 0;
  HoldingTable after;
};

/// What an algorithm does, from the first message to the cost.
struct Explanation {
  Stage stage;
  ExplainQuestion question;
  ExplainWords words{{}};
  std::vector<std::string> columns;  // of the tables: chunks; "..." for what is left out
  std::vector<std::string> rows;     // ranks, likewise
  HoldingTable start;
  std::vector<ExplainedRound> rounds;  // that are shown
  std::int64_t total_rounds = 0;
  std::vector<Round> events;       // of the rounds asked for, for programs
  std::vector<std::string> notes;  // what is left out and why
  std::string verdict;             // on the result
  ExplainedCost cost;
};

/// Plays the algorithm round by round and in the engine. Throws UsageError, ConfigError, Refusal.
[[nodiscard]] Explanation explain(const ExplainQuestion& question);

}  // namespace lockstep::cli
