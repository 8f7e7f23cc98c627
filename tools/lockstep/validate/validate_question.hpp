#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "strategies/validation/comparison.hpp"

namespace lockstep::cli {

/// What `lockstep validate` is asked.
struct ValidateQuestion {
  std::vector<std::filesystem::path> files{};
  std::string group{};  // of training runs, or a table's id; empty: all
  bool core = false;    // training runs of the short suite alone
  std::optional<ComparedQuantity> quantity{};
  std::optional<std::size_t> limit{};  // the first so many runs and tables
  std::string stack{};                 // for all runs, in the place of the rule's
};

/// What came of it.
struct ValidateAnswer {
  std::vector<Comparison> rows{};   // in the order of the files
  std::vector<LeftOut> left_out{};  // likewise
};

/// Simulates every run and every point of the tables, several at a time. Throws ConfigError for
/// what the files have wrong, UsageError where nothing matches.
[[nodiscard]] ValidateAnswer validate(const ValidateQuestion& question);

}  // namespace lockstep::cli
