#pragma once

#include <cstddef>
#include <string>

#include "tools/lockstep/report/page_data.hpp"
#include "tools/lockstep/run/run_options.hpp"

namespace lockstep::cli {

struct ReportedStep {
  const RunOptions& options;
  const TrainingStepResult& result;
};

/// Two training steps next to each other: headlines, keys that differ, time by class of the rank
/// that determines each step, operations by name, figures, and if asked for classes. Figures are
/// thinned, with notes, to keep the page within `budget` bytes without its script.
[[nodiscard]] std::string two_steps_page(const ReportedStep& a, const ReportedStep& b,
                                         std::size_t budget = kPageBudget);

}  // namespace lockstep::cli
