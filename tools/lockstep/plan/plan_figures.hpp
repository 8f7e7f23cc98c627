#pragma once

#include <string>
#include <vector>

#include "tools/app/plan/plan.hpp"
#include "tools/figures/frame.hpp"
#include "tools/lockstep/output/app.hpp"

namespace lockstep::cli {

/// Names of the figures of `lockstep plan --plot`: front, heatmap, rejections.
[[nodiscard]] const std::vector<std::string>& plan_figure_kinds();

/// A figure of a search as SVG. Throws Refusal if the search found no layout.
[[nodiscard]] std::string plan_figure(const std::string& kind, const PlanResult& result,
                                      const figures::FigureStyle& style = {});

}  // namespace lockstep::cli
