#include "strategies/collectives/schedules/extra_rank.hpp"

#include <bit>

namespace lockstep {

PowerOfTwoCore::PowerOfTwoCore(int n)
    : exponent_{static_cast<int>(std::bit_width(static_cast<unsigned>(n))) - 1},
      extras_{n - (1 << exponent_)} {}

std::int64_t ExtraRankSchedule::steps(int, int) const {
  return core_.extras() > 0 ? core_steps() + 2 : core_steps();
}

void ExtraRankSchedule::step(int rank, int, std::int64_t index, ScheduleStep& step) const {
  const std::int64_t in_core = core_.extras() > 0 ? index - 1 : index;
  if (in_core < 0) {
    fold(rank, step);
  } else if (in_core == core_steps()) {
    unfold(rank, step);
  } else if (!core_.is_extra(rank)) {
    core_step(core_.index_of(rank), in_core, step);
  }
}

void ExtraRankSchedule::fold(int rank, ScheduleStep& step) const {
  if (core_.is_extra(rank)) step.sends.push_back({rank - 1, whole()});
  if (core_.is_partner(rank)) step.receives.push_back({rank + 1, whole(), Combine::reduce});
}

void ExtraRankSchedule::unfold(int rank, ScheduleStep& step) const {
  if (core_.is_partner(rank)) step.sends.push_back({rank + 1, whole()});
  if (core_.is_extra(rank)) step.receives.push_back({rank - 1, whole(), Combine::copy});
}

}  // namespace lockstep
