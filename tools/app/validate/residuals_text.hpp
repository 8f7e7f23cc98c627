#pragma once

#include <string>
#include <vector>

#include "strategies/measure/validation/comparison.hpp"

namespace lockstep::app {

/// The errors of step times in the format of load_validated_runs(); groups with many rows are
/// subsampled evenly to at most 80.
[[nodiscard]] std::string residuals_text(const std::vector<Comparison>& rows);

}  // namespace lockstep::app
