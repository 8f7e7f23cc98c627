#pragma once

#include <string>

#include "tools/lockstep/run/run_options.hpp"

namespace lockstep::cli {

struct ReportedStep {
  const RunOptions& options;
  const TrainingStepResult& result;
};

/// Two training steps next to each other: headlines, keys that differ, time by class of the rank
/// that determines each step, operations by name, figures.
[[nodiscard]] std::string two_steps_page(const ReportedStep& a, const ReportedStep& b);

}  // namespace lockstep::cli
