#include "sim/schedule/shortened_schedule.hpp"

#include <algorithm>

namespace lockstep {

std::int64_t ShortenedSchedule::steps(int rank, int lane) const {
  const std::int64_t steps = whole_.steps(rank, lane);
  return steps < phase_.first + phase_.count ? steps : steps - left_out();
}

void ShortenedSchedule::step(int rank, int lane, std::int64_t index, ScheduleStep& step) const {
  const bool after = index >= phase_.first + kept_;
  whole_.step(rank, lane, after ? index + left_out() : index, step);
  const std::int64_t last = phase_.first + phase_.count - 1;
  for (ScheduleStepRef& ref : step.after) {
    if (ref.step >= last) {
      ref.step -= left_out();
    } else {
      ref.step = std::min(ref.step, phase_.first);  // within the phase: none is as early as this
    }
  }
}

bool ShortenedSchedule::is_complete() const {
  for (int rank = 0; rank < ranks(); ++rank)
    for (int lane = 0; lane < lanes(); ++lane) {
      const std::int64_t steps = whole_.steps(rank, lane);
      if (phase_.first < steps && steps < phase_.first + phase_.count) return false;
    }
  return true;
}

}  // namespace lockstep
