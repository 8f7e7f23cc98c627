#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tools/app/step/rank_classes.hpp"
#include "tools/app/step/step_confidence.hpp"
#include "tools/lockstep/app.hpp"

namespace lockstep::cli {

/// "0-7, 32-39".
[[nodiscard]] std::string text_of(const std::vector<std::pair<int, int>>& ranges);
/// "all 256 ranks, folded into 32 classes", "every rank simulated".
[[nodiscard]] std::string how_simulated(const SimulatedStep& step);

/// "11.2 s to 14.1 s, by 80 % of the 24 nearest of the validated runs (mlm, kor)".
[[nodiscard]] std::string interval_words(const Confidence& confidence);

/// What no validated run has, a line each.
[[nodiscard]] std::vector<std::string> outside_words(const Confidence& confidence);

}  // namespace lockstep::cli
