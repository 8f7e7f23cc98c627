#include "strategies/step/lowering/calls_in_turn.hpp"

#include "sim/reuse/schedule_step_counts.hpp"
#include "sim/schedule/schedule_traits.hpp"

namespace lockstep {

namespace {

bool copies(const Schedule& schedule) {
  const fold::ScheduleStepCounts counts{schedule.phases()};
  const StepSizes sizes{schedule};
  ScheduleStep step;
  bool out = false;
  for (int rank = 0; rank < schedule.ranks(); ++rank)
    for (int lane = 0; lane < schedule.lanes(); ++lane)
      counts.visit(first_step(schedule, rank, lane), schedule.steps(rank, lane),
                   [&](std::int64_t index, std::int64_t /*times*/) {
                     step.clear();
                     sizes.read(rank, lane, index, step);
                     out = out || !step.locals.empty();
                   });
  return out;
}

}  // namespace

bool among_all(const Communication& how) {
  return !how.host && how.participants.empty() &&
         (how.collective == Collective::all_reduce || how.collective == Collective::all_gather ||
          how.collective == Collective::reduce_scatter);
}

bool is_plain(const Schedule& schedule) {
  return schedule.slots() == 0 && !copies(schedule);
}

}  // namespace lockstep
