#pragma once

#include <string>
#include <vector>

#include "strategies/measure/validation/comparison.hpp"

namespace lockstep::app {

/// The errors of step times as a file that load_validated_runs() reads; of groups with many rows
/// every so many-th, at most 80 of each.
[[nodiscard]] std::string residuals_text(const std::vector<Comparison>& rows);

}  // namespace lockstep::app
