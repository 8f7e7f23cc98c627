#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tools/app/step/metrics/rank_classes.hpp"
#include "tools/app/step/metrics/step_confidence.hpp"
#include "tools/lockstep/output/app.hpp"

namespace lockstep::cli {

/// "0-7, 32-39".
[[nodiscard]] std::string text_of(const std::vector<std::pair<int, int>>& ranges);
/// "all 256 ranks, folded into 32 classes", "every rank simulated".
[[nodiscard]] std::string how_simulated(const SimulatedTrainingStep& step);

}  // namespace lockstep::cli
