#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "strategies/calibration/calibration.hpp"
#include "strategies/measure/validation/comparison.hpp"
#include "strategies/measure/validation/measured.hpp"
#include "tools/app/progress.hpp"
#include "tools/app/validate/unmodeled_row.hpp"

namespace lockstep::app {

/// Input of `lockstep validate`.
struct ValidateRequest {
  std::vector<std::filesystem::path> files{};
  std::string group{};  // of training runs, or id of a table; empty: all
  bool core = false;    // only training runs of the short suite
  std::optional<ComparedQuantity> quantity{};
  std::optional<std::size_t> limit{};    // only the first runs and tables
  std::string stack{};                   // for all runs, overriding stack rules
  std::string calibration{};             // file; empty: none
  const Calibration* figures = nullptr;  // the same in memory
  OnProgress on_progress{};
};

/// The calibration of a request.
[[nodiscard]] Calibration calibration_of(const ValidateRequest& request);

/// Result of a validation.
struct ValidateResult {
  std::vector<Comparison> rows{};        // in file order
  std::vector<UnmodeledRow> left_out{};  // the same
};

/// Simulates every run and every point of the tables, in parallel. Throws ConfigError for invalid
/// files, RequestError if nothing matches.
[[nodiscard]] ValidateResult validate(const ValidateRequest& request);

/// The same for rows already read.
[[nodiscard]] ValidateResult validate(const ValidateRequest& request,
                                      const std::vector<Measured>& rows);

}  // namespace lockstep::app
