#pragma once

#include <optional>

#include "tools/app/step/run_step.hpp"
#include "tools/figures/step/cluster_figure.hpp"
#include "tools/lockstep/output/app.hpp"

namespace lockstep::cli {

/// Every element and every link of the step's cluster, with the use of links over the step; none of
/// steps of more than kMostLinkRanks ranks or clusters of too many links to draw.
[[nodiscard]] std::optional<figures::ClusterFigure> cluster_of(const TrainingStepResult& result,
                                                               figures::Heading heading);

}  // namespace lockstep::cli
