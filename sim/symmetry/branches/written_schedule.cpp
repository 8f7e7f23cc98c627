#include "sim/symmetry/branches/written_schedule.hpp"

#include <utility>

namespace lockstep::fold {

WrittenSchedule::WrittenSchedule(const Schedule& of)
    : ranks_{of.ranks()},
      lanes_{of.lanes()},
      slots_{of.slots()},
      blocks_{of.blocks()},
      phases_{of.phases()} {
  for (int rank = 0; rank < ranks_; ++rank) {
    for (int lane = 0; lane < lanes_; ++lane) {
      std::vector<ScheduleStep>& list = steps_.emplace_back(of.steps(rank, lane));
      for (std::size_t i = 0; i < list.size(); ++i)
        of.step(rank, lane, static_cast<std::int64_t>(i), list[i]);
    }
  }
}

const std::vector<ScheduleStep>& WrittenSchedule::list(int rank, int lane) const {
  return steps_[static_cast<std::size_t>(rank) * static_cast<std::size_t>(lanes_) +
                static_cast<std::size_t>(lane)];
}

std::int64_t WrittenSchedule::steps(int rank, int lane) const {
  return static_cast<std::int64_t>(list(rank, lane).size());
}

void WrittenSchedule::step(int rank, int lane, std::int64_t index, ScheduleStep& step) const {
  step = list(rank, lane)[static_cast<std::size_t>(index)];
}

std::shared_ptr<const Schedule> written(std::shared_ptr<const Schedule> of,
                                        std::int64_t most_steps) {
  std::int64_t steps = 0;
  for (int rank = 0; rank < of->ranks() && steps <= most_steps; ++rank)
    for (int lane = 0; lane < of->lanes(); ++lane) steps += of->steps(rank, lane);
  if (steps > most_steps) return of;
  return std::make_shared<WrittenSchedule>(*of);
}

}  // namespace lockstep::fold
