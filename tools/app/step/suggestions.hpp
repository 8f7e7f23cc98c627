#pragma once

#include <cstddef>
#include <vector>

#include "sim/base/units.hpp"
#include "tools/app/step/memory_changes.hpp"
#include "tools/app/step/metrics/rank_memory.hpp"

/// Changes of a layout that make the step shorter.
namespace lockstep::app {

struct TrainingStepRequest;
struct TrainingStepResult;

/// A change that was simulated.
struct Suggestion {
  Change change;
  Duration step;
  Bytes needed;  // memory of the rank that needs the most
  MemoryFit fit = MemoryFit::fits;
};

struct TrainingStepSuggestions {
  std::vector<Suggestion> best{};  // at most three that save half a percent or more, fastest first
  std::size_t simulated = 0;       // how many changes were simulated
  std::size_t no_memory = 0;       // how many were not, since they do not fit
};

/// Changes worth a simulation, those that may save the most time first: traffic to overlap, less
/// recomputation, interleaving, other microbatches, other degrees of tensor, pipeline, context and
/// expert parallelism at the same number of ranks, another ZeRO stage. Judged by where the time of
/// `result` goes.
[[nodiscard]] std::vector<Change> candidate_changes(const TrainingStepResult& result);

/// Simulates the first `request.suggestions` candidates that are valid and fit into memory, at the
/// fidelity of `result`, on all cores. The cost is at most that many simulations of a step, and
/// twice as many memory accounts.
[[nodiscard]] TrainingStepSuggestions suggestions_for(const TrainingStepRequest& request,
                                                      const TrainingStepResult& result);

}  // namespace lockstep::app
