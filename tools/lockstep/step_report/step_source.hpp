#pragma once

#include <string>
#include <vector>

#include "sim/config/config_error.hpp"
#include "tools/lockstep/parser/command_parser.hpp"
#include "tools/lockstep/run/run_options.hpp"

namespace lockstep::cli {

/// A training step of a scenario (file or shipped name), or of a result of `run --format json`,
/// whose configuration is simulated again. Its request is complete.
struct StepSource {
  RunOptions options;
  std::string fingerprint{};  // that an unchanged result has; else empty
};

/// Throws ConfigError for a file that is neither, UsageError for a result of another command,
/// IoError.
[[nodiscard]] StepSource step_source(const std::string& scenario_or_result,
                                     const std::vector<std::string>& overrides = {});

/// SCENARIO|RESULT, for step_source().
void add_step_source(const Command& command, std::string& scenario_or_result);

/// Notes on stderr if a result, simulated again, has another fingerprint.
void note_other_fingerprint(const StepSource& source, const TrainingStepResult& result);

/// Two steps on a command line: scenarios or results, or one of them with changes.
struct TwoStepsOptions {
  std::string scenario;
  std::string second;
  std::vector<std::string> overrides;  // of both
  std::vector<std::string> changes;    // of the second alone

  [[nodiscard]] bool has_second() const { return !second.empty() || !changes.empty(); }
  [[nodiscard]] StepSource first_step() const { return step_source(scenario, overrides); }
  [[nodiscard]] StepSource second_step() const;
  /// Of an error in an override, with those of --change named so.
  [[nodiscard]] ConfigError as_written(const ConfigError& error) const;
};

/// SCENARIO [SECOND], --set and --change; `of_second` describes the second step.
void add_two_steps(const Command& command, TwoStepsOptions& given, const std::string& of_second);

}  // namespace lockstep::cli
