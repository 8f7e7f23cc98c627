#pragma once

#include <cstddef>
#include <vector>

#include "sim/base/units.hpp"
#include "tools/app/step/memory_changes.hpp"
#include "tools/app/step/metrics/rank_memory.hpp"

/// Changes of a layout that shorten the step.
namespace lockstep::app {

struct TrainingStepRequest;
struct TrainingStepResult;

/// A simulated change.
struct Suggestion {
  LayoutChange change;
  Duration step;
  Bytes needed;  // memory of the rank with the highest need
  MemoryFit fit = MemoryFit::fits;
};

struct TrainingStepSuggestions {
  std::vector<Suggestion> best{};  // at most three that save at least 0.5 %, fastest first
  std::size_t simulated = 0;       // changes simulated
  std::size_t no_memory = 0;       // changes skipped because they do not fit
  bool left_out = false;           // none simulated: the step takes long (suggests_if_quick)
};

/// Changes worth simulating, the most promising first by the breakdown of `result`: more overlap,
/// less recomputation, interleaving, other microbatch sizes, other degrees of tensor, pipeline,
/// context and expert parallelism at the same number of ranks, another ZeRO stage.
[[nodiscard]] std::vector<LayoutChange> candidate_changes(const TrainingStepResult& result);

/// Simulates the first `request.suggestions` candidates that are valid and fit into memory, at the
/// fidelity of `result`, on all cores. Costs at most that many simulations and twice as many memory
/// accounts.
[[nodiscard]] TrainingStepSuggestions suggestions_for(const TrainingStepRequest& request,
                                                      const TrainingStepResult& result);

}  // namespace lockstep::app
