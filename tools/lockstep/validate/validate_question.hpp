#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "strategies/calibration/calibration.hpp"
#include "strategies/validation/comparison.hpp"
#include "strategies/validation/measured.hpp"

namespace lockstep::cli {

/// What `lockstep validate` is asked.
struct ValidateQuestion {
  std::vector<std::filesystem::path> files{};
  std::string group{};  // of training runs, or a table's id; empty: all
  bool core = false;    // training runs of the short suite alone
  std::optional<ComparedQuantity> quantity{};
  std::optional<std::size_t> limit{};    // the first so many runs and tables
  std::string stack{};                   // for all runs, in the place of the rule's
  std::string calibration{};             // file whose figures go first; empty: none
  const Calibration* figures = nullptr;  // the same, not of a file
};

/// Of the question.
[[nodiscard]] Calibration calibration_of(const ValidateQuestion& question);

/// What came of it.
struct ValidateAnswer {
  std::vector<Comparison> rows{};   // in the order of the files
  std::vector<LeftOut> left_out{};  // likewise
};

/// Simulates every run and every point of the tables, several at a time. Throws ConfigError for
/// what the files have wrong, UsageError where nothing matches.
[[nodiscard]] ValidateAnswer validate(const ValidateQuestion& question);

/// The same of rows that have been read.
[[nodiscard]] ValidateAnswer validate(const ValidateQuestion& question,
                                      const std::vector<Measured>& rows);

}  // namespace lockstep::cli
