#pragma once

#include <string>

#include "tools/app/sensitivity/sensitivity.hpp"
#include "tools/lockstep/output/app.hpp"

namespace lockstep::cli {

/// A page of one HTML file: the tornado chart of the spreads, elasticities, the table.
[[nodiscard]] std::string sensitivity_page(const SensitivityResult& result, bool ranges);

}  // namespace lockstep::cli
