#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/trace/summary.hpp"
#include "strategies/layout/parallel_config.hpp"

namespace lockstep::app {

/// A share of the critical path.
struct TrainingStepLimit {
  TimeUse use{};     // of computation: its largest class
  Duration length;   // of computation: all classes together
  double share = 0;  // of the step
};

/// Longest first: computation as a whole, communication by group, and each kind of wait.
[[nodiscard]] std::vector<TrainingStepLimit> limits_of(const TrainingStepSummary& summary);

/// Pipeline bubble of equal stages over the ideal time, that of the microbatches without idling.
struct BubbleFormula {
  std::string text{};  // "(p-1)/(v m)"
  double fraction = 0;
};

/// None without a pipeline and for schedules without a formula. GPipe, 1F1B, interleaved: Narayanan
/// et al. 2021, arXiv 2104.04473, section 2.2. Zero-bubble: Qi et al., arXiv 2401.10241, section
/// 2.2, with equal times of forward and both halves of backward; in a V: arXiv 2405.15362.
[[nodiscard]] std::optional<BubbleFormula> bubble_formula(const ParallelConfig& parallel);

}  // namespace lockstep::app
