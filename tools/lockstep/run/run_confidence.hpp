#pragma once

#include <optional>
#include <string>
#include <vector>

#include "strategies/training/scenario.hpp"
#include "strategies/validation/confidence.hpp"

namespace lockstep::cli {

/// From configs/validation/residuals.json; none where there is no such file. Throws ConfigError.
[[nodiscard]] std::optional<Confidence> run_confidence(const Scenario& scenario, Duration step);

/// "11.2 s to 14.1 s, by 80 % of the 24 nearest of the checked runs (mlm, kor)".
[[nodiscard]] std::string interval_words(const Confidence& confidence);

/// What no checked run has, a line each.
[[nodiscard]] std::vector<std::string> outside_words(const Confidence& confidence);

}  // namespace lockstep::cli
