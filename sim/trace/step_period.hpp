#pragma once

#include "sim/program/timeline.hpp"

namespace lockstep {

/// Time from one step to the next where ranks wait for each other in passes alone, and every rank
/// updates its weights as soon as its own gradients are complete: the longest time from a rank's
/// first computation to the last of its passes, and its update. Steps follow each other with this
/// period if each begins as much later as the one before: a rank's neighbors do, too. Of the wait
/// for gradients of embeddings that stages share, nothing is contained.
/// Source: Qi et al., Zero Bubble Pipeline Parallelism, arXiv 2401.10241, section 4: norm and
/// overflow of gradients are validated after the update, without a synchronization of all stages.
/// Zero if no rank has passes.
[[nodiscard]] Duration step_period(const TrainingStepTimeline& timeline);

}  // namespace lockstep
