#pragma once

#include <string>
#include <utility>
#include <vector>

#include "strategies/step/simulate.hpp"

namespace lockstep::app {

/// An equivalence class of a folded step, for display.
struct ShownClass {
  RankEquivalenceClass of;
  std::string role;                         // "stage 0"
  std::vector<std::pair<int, int>> ranges;  // of ranks, inclusive
};

/// The largest first, then by their first ranks.
[[nodiscard]] std::vector<ShownClass> shown_classes(const SimulatedTrainingStep& step);

/// Classes of one role that part from the largest class of the role at the same operation for the
/// same reason, for display.
struct ClassGroup {
  ShownClass first;  // the first to part
  std::size_t classes = 1;
  std::int64_t ranks = 0;
};

/// In the order in which they part, ranks with a speed of their own before others; then those that
/// have the times of the largest class of the role, which comes first.
[[nodiscard]] std::vector<ClassGroup> class_groups(std::vector<ShownClass> classes);

}  // namespace lockstep::app
