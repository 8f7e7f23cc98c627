#pragma once

#include <string>

#include "tools/lockstep/run/run_options.hpp"

namespace lockstep::cli {

/// A training step to report: a scenario (file or shipped name), or a result of `run --format
/// json`, whose configuration is simulated again.
struct StepSource {
  RunOptions options;
  std::string fingerprint{};  // that the result has; empty: a scenario
};

/// Throws ConfigError for a file that is neither, UsageError for a result of another command,
/// IoError.
[[nodiscard]] StepSource step_source(const std::string& scenario_or_result);

}  // namespace lockstep::cli
