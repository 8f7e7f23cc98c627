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
}  // namespace lockstep::app
