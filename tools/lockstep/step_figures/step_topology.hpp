#pragma once

#include "tools/app/step/run_step.hpp"
#include "tools/figures/step/topology_figure.hpp"
#include "tools/lockstep/output/app.hpp"

namespace lockstep::cli {

/// Kinds of elements of the step's cluster, and how busy the links between them are over the step.
[[nodiscard]] figures::TopologyFigure topology_of(const TrainingStepResult& result,
                                                  figures::Heading heading);

}  // namespace lockstep::cli
