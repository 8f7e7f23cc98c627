#pragma once

#include <string>
#include <vector>

#include "tools/app/sensitivity/sensitivity.hpp"
#include "tools/figures/frame.hpp"
#include "tools/lockstep/output/app.hpp"

namespace lockstep::cli {

/// Names of its figures: tornado, if there are spreads, and elasticity.
[[nodiscard]] std::vector<std::string> sensitivity_figure_kinds(const SensitivityResult& result);

/// A figure as SVG.
[[nodiscard]] std::string sensitivity_figure(const std::string& kind,
                                             const SensitivityResult& result,
                                             const figures::FigureStyle& style = {});

/// A page of one HTML file: the tornado chart of the spreads, elasticities, the table. `parts`:
/// changes of GPUs, links and NICs as options.
[[nodiscard]] std::string sensitivity_page(const SensitivityResult& result,
                                           const std::string& parts, bool ranges);

}  // namespace lockstep::cli
