#include "tools/app/step/memory_check.hpp"

#include <fmt/format.h>

#include <utility>

#include "tools/app/step/memory_changes.hpp"
#include "tools/app/step/prepared_step.hpp"
#include "tools/app/step/run_step.hpp"

namespace lockstep::app {

namespace {

void check(const TrainingStepRequest& request, const Scenario& scenario, const RankMemory& memory) {
  if (memory.fits() || request.ignore_memory || scenario.ignore_memory) return;
  throw DoesNotFit(memory_shortfall(request, scenario, memory));
}

}  // namespace

void check_memory(const TrainingStepRequest& request, const PreparedTrainingStep& prepared) {
  if (prepared.fits() || request.ignore_memory || prepared.scenario.ignore_memory) return;
  RankMemory memory = worst_memory_in_order(prepared.roles, prepared.capacity);
  memory.margin = prepared.margin;
  check(request, prepared.scenario, memory);
}

RankMemory memory_of(const PreparedTrainingStep& prepared, const SimulatedTrainingStep& step) {
  RankMemory out = worst_memory(step.timeline, prepared.capacity);
  out.margin = prepared.margin;
  return out;
}

RankMemory checked_memory(const TrainingStepRequest& request, const PreparedTrainingStep& prepared,
                          const SimulatedTrainingStep& step) {
  RankMemory out = memory_of(prepared, step);
  check(request, prepared.scenario, out);
  return out;
}

DoesNotFit::DoesNotFit(MemoryShortfall shortfall)
    : Error{ErrorCode::negative_result,
            fmt::format("{} needs {} of memory, {} more than the {} of {}",
                        rank_text(shortfall.memory.rank, shortfall.memory.role),
                        to_string(shortfall.memory.needed()),
                        to_string(shortfall.memory.needed() - *shortfall.memory.capacity),
                        to_string(*shortfall.memory.capacity), shortfall.device)},
      shortfall_{std::move(shortfall)} {}

}  // namespace lockstep::app
