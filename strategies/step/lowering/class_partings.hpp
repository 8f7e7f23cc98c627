#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "sim/program/timeline.hpp"
#include "strategies/step/lowering/fold_step.hpp"

namespace lockstep {

/// By role the largest class, the first of several, with which others are compared: an index.
[[nodiscard]] std::map<std::size_t, std::size_t> usual_classes(
    const std::vector<RankEquivalenceClass>& classes);

/// Fills in RankEquivalenceClass::parting from the times of the representatives: `timeline.ranks`
/// in the order of `classes`.
void find_partings(const TrainingStepTimeline& timeline,
                   std::vector<RankEquivalenceClass>& classes);

/// The number of different histories: sets of classes of one role whose operations all end at the
/// same times.
[[nodiscard]] std::size_t distinct_histories(const TrainingStepTimeline& timeline);

}  // namespace lockstep
