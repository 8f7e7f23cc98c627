#pragma once

#include <cstddef>
#include <vector>

#include "tools/app/step/run_step.hpp"
#include "tools/figures/step/track_figure.hpp"
#include "tools/lockstep/output/app.hpp"

namespace lockstep::cli {

/// Simulated ranks in the order in which they are worth showing: of each role the one that computes
/// longest, then the others. Indices into TrainingStepTimeline::ranks.
[[nodiscard]] std::vector<std::size_t> ranks_to_show(const TrainingStepResult& result);

/// A row per stream of a rank of each stage.
[[nodiscard]] figures::TrackFigure timeline_tracks(const TrainingStepResult& result,
                                                   figures::Heading heading);

/// Loads over time of all links of a kind and of the busiest links; of more than kMostLinkRanks
/// ranks how much of the time each group transfers on the rank that determines the step.
[[nodiscard]] figures::TrackFigure traffic_tracks(const TrainingStepResult& result,
                                                  figures::Heading heading);

}  // namespace lockstep::cli
