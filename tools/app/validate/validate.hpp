#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "strategies/measure/calibration/calibration.hpp"
#include "strategies/measure/validation/comparison.hpp"
#include "strategies/measure/validation/measured.hpp"
#include "tools/app/progress.hpp"

namespace lockstep::app {

/// What `lockstep validate` is asked.
struct ValidateRequest {
  std::vector<std::filesystem::path> files{};
  std::string group{};  // of training runs, or a table's id; empty: all
  bool core = false;    // training runs of the short suite alone
  std::optional<ComparedQuantity> quantity{};
  std::optional<std::size_t> limit{};    // the first so many runs and tables
  std::string stack{};                   // for all runs, in the place of the rule's
  std::string calibration{};             // file whose figures go first; empty: none
  const Calibration* figures = nullptr;  // the same, not of a file
  OnProgress on_progress{};
};

/// Of the request.
[[nodiscard]] Calibration calibration_of(const ValidateRequest& request);

/// What came of it.
struct ValidateResult {
  std::vector<Comparison> rows{};   // in the order of the files
  std::vector<LeftOut> left_out{};  // likewise
};

/// Simulates every run and every point of the tables, several at a time. Throws ConfigError for
/// what the files have wrong, RequestError where nothing matches.
[[nodiscard]] ValidateResult validate(const ValidateRequest& request);

/// The same of rows that have been read.
[[nodiscard]] ValidateResult validate(const ValidateRequest& request,
                                      const std::vector<Measured>& rows);

}  // namespace lockstep::app
