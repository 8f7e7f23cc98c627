#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/execute/schedule/connections.hpp"
#include "sim/execute/schedule/schedule_step_index.hpp"
#include "sim/schedule/schedule.hpp"

namespace lockstep::posted {

/// Progress of one lane of an execution.
struct LaneState {
  std::int64_t done = 0;        // steps finished
  std::int64_t steps = 0;       // in all
  std::int64_t pending = 0;     // transfers of the current step that are not complete
  bool begun = false;           // the current step
  bool has_locals = false;      // the current step, once begun
  std::uint32_t holds = kNone;  // connection whose slot the current step frees when it finishes
  std::uint32_t took = kNone;   // connection whose slot the next step will free
};

/// The lanes of all ranks, numbered rank by rank.
class LaneStates {
 public:
  explicit LaneStates(const Schedule& schedule) : lane_count_{schedule.lanes()} {
    for (int rank = 0; rank < schedule.ranks(); ++rank)
      for (int lane = 0; lane < lane_count_; ++lane)
        states_.push_back({.steps = schedule.steps(rank, lane)});
  }

  [[nodiscard]] std::size_t size() const { return states_.size(); }
  [[nodiscard]] LaneState& operator[](std::size_t lane) { return states_[lane]; }
  [[nodiscard]] const LaneState& operator[](std::size_t lane) const { return states_[lane]; }

  [[nodiscard]] int rank_of(std::size_t lane) const {
    return static_cast<int>(lane / static_cast<std::size_t>(lane_count_));
  }
  [[nodiscard]] int lane_of(std::size_t lane) const {
    return static_cast<int>(lane % static_cast<std::size_t>(lane_count_));
  }
  [[nodiscard]] std::size_t index(int rank, int lane) const {
    return static_cast<std::size_t>(rank) * static_cast<std::size_t>(lane_count_) +
           static_cast<std::size_t>(lane);
  }
  /// The lane's current step: the first that is not done.
  [[nodiscard]] ScheduleStepIndex current(std::size_t lane) const {
    return {rank_of(lane), lane_of(lane), states_[lane].done};
  }
  /// The first step that `step`, of this lane, waits for and that is not done; null if there is
  /// none.
  [[nodiscard]] const ScheduleStepRef* first_missing(std::size_t lane,
                                                     const ScheduleStep& step) const {
    for (const ScheduleStepRef& after : step.after) {
      if (states_[index(rank_of(lane), after.lane)].done <= after.step) return &after;
    }
    return nullptr;
  }

 private:
  int lane_count_;
  std::vector<LaneState> states_;
};

}  // namespace lockstep::posted
