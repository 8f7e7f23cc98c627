#pragma once

#include <string>
#include <vector>

#include "tools/app/step/run_step.hpp"
#include "tools/figures/frame.hpp"
#include "tools/lockstep/output/app.hpp"

namespace lockstep::cli {

/// Names of the figures of a training step: pipeline, memory, breakdown, links, path.
[[nodiscard]] const std::vector<std::string>& run_figure_kinds();

/// A figure as SVG. Throws Refusal if it has no data, such as links of a step without
/// communication.
[[nodiscard]] std::string run_figure(const std::string& kind, const TrainingStepResult& result,
                                     const figures::FigureStyle& style = {});

}  // namespace lockstep::cli
