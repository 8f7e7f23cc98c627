#pragma once

#include <string>
#include <utility>
#include <vector>

#include "strategies/step/simulate.hpp"

namespace lockstep::app {

/// A class of ranks of a folded step, to be shown.
struct ShownClass {
  RankEquivalenceClass of;
  std::string role;                         // "stage 0"
  std::vector<std::pair<int, int>> ranges;  // of ranks, both ends included
};

/// The largest first, then by their first ranks.
[[nodiscard]] std::vector<ShownClass> shown_classes(const SimulatedTrainingStep& step);
}  // namespace lockstep::app
