#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/config/json/config_error.hpp"
#include "tools/lockstep/parser/command_parser.hpp"
#include "tools/lockstep/run/run_options.hpp"

namespace lockstep::cli {

/// A training step of a scenario (file or shipped name), of a result of `run --format json`, whose
/// configuration is simulated again, or of a point of a store. Its request is complete.
struct StepSource {
  RunOptions options;
  std::string fingerprint{};       // of a result
  std::optional<Duration> step{};  // of a point
  bool is_as_written = true;       // false: with overrides
};

/// Throws ConfigError for a file that is neither, UsageError for a result of another command,
/// RequestError for a point that a store lacks, IoError.
[[nodiscard]] StepSource step_source(const std::string& text,
                                     const std::vector<std::string>& overrides = {});

/// The same with the changes of parts, seed, fidelity, fold, network, calibration and ignored
/// memory of `given`; empty ones are those of the scenario, result or point. Its classes, if
/// `given` has them.
[[nodiscard]] StepSource step_source(const std::string& text, std::vector<std::string> overrides,
                                     const RunOptions& given);

/// Inverse of run_options_json(). Throws UsageError.
[[nodiscard]] RunOptions read_run_options(const std::string& json, const std::string& file);

/// SCENARIO|RESULT|POINT, for step_source().
void add_step_source(const Command& command, std::string& text);

/// Of a command line without such options: fidelity, fold and network are those of the step.
[[nodiscard]] inline RunOptions none_given() {
  RunOptions out;
  out.fidelity.clear();
  out.fold.clear();
  out.network.clear();
  return out;
}

/// Notes on stderr if a result or point, simulated again, is another one.
void note_other_result(const StepSource& source, const TrainingStepResult& result);

/// Notes on stderr if --seed was given and nothing of the step is drawn.
void note_idle_seed(const RunOptions& given, const TrainingStepResult& result);
/// The same of two steps.
void note_idle_seed(const RunOptions& given, const TrainingStepResult& a,
                    const TrainingStepResult& b);

/// Two steps on a command line: scenarios or results, or one of them with changes.
struct TwoStepsOptions {
  std::string scenario;
  std::string second;
  std::vector<std::string> overrides;  // of both
  std::vector<std::string> changes;    // of the second alone
  /// Changes of parts, seed, how steps are simulated, and classes: of both; without `second` and
  /// `changes` of the only step, or with `parts_make_second` the second step is the first one with
  /// them.
  RunOptions given = none_given();
  bool parts_make_second = false;

  [[nodiscard]] bool has_second() const {
    return !second.empty() || !changes.empty() || (parts_make_second && changes_parts(given));
  }
  /// Whether the changes of parts are of the second step alone.
  [[nodiscard]] bool second_alone_has_parts() const {
    return parts_make_second && second.empty() && changes.empty();
  }
  [[nodiscard]] StepSource first_step() const;
  [[nodiscard]] StepSource second_step() const;
  /// Of an error in an override, with those of --change named so.
  [[nodiscard]] ConfigError as_written(const ConfigError& error) const;
};

/// SCENARIO|RESULT|POINT [SECOND], --set and --change; `of_second` describes the second step.
void add_two_steps(const Command& command, TwoStepsOptions& given, const std::string& of_second);

}  // namespace lockstep::cli
