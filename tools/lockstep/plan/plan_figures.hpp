#pragma once

#include <string>
#include <vector>

#include "tools/app/plan/plan.hpp"
#include "tools/lockstep/output/app.hpp"

namespace lockstep::cli {

/// front, heatmap.
[[nodiscard]] const std::vector<std::string>& plan_figure_kinds();

/// A figure of a search as SVG. Throws Refusal where nothing was found.
[[nodiscard]] std::string plan_figure(const std::string& kind, const PlanResult& result);

}  // namespace lockstep::cli
