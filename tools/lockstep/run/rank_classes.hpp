#pragma once

#include <string>
#include <utility>
#include <vector>

#include "strategies/training/simulate.hpp"

namespace lockstep::cli {

/// A class of ranks of a folded step, to be shown.
struct ShownClass {
  RankClass of;
  std::string role;                         // "stage 0"
  std::vector<std::pair<int, int>> ranges;  // of ranks, both ends included
};

/// The largest first, then by their first ranks.
[[nodiscard]] std::vector<ShownClass> shown_classes(const SimulatedStep& step);
/// "0-7, 32-39".
[[nodiscard]] std::string text_of(const std::vector<std::pair<int, int>>& ranges);
/// "all 256 ranks, folded into 32 classes", "every rank simulated".
[[nodiscard]] std::string how_simulated(const SimulatedStep& step);

}  // namespace lockstep::cli
