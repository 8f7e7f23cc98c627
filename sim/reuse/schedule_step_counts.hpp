#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "sim/schedule/schedule.hpp"

namespace lockstep::fold {

/// The steps of a lane; steps that a phase repeats are visited once with their count.
class ScheduleStepCounts {
 public:
  explicit ScheduleStepCounts(std::vector<Phase> phases) : phases_{std::move(phases)} {}

  /// Visits steps [first, steps); `first` is not inside a phase except at its beginning.
  template <typename Visit>  // visit(index, times)
  void visit(std::int64_t first, std::int64_t steps, Visit&& visit) const {
    std::int64_t index = first;
    for (const Phase& phase : phases_) {
      for (; index < std::min(phase.first, steps); ++index) visit(index, std::int64_t{1});
      const std::int64_t times = std::min(phase.first + phase.count, steps) - index;
      if (times <= 0) continue;
      visit(index, times);
      index += times;
    }
    for (; index < steps; ++index) visit(index, std::int64_t{1});
  }

  [[nodiscard]] const std::vector<Phase>& phases() const { return phases_; }

  template <typename Visit>
  void visit(std::int64_t steps, Visit&& each) const {
    visit(std::int64_t{0}, steps, std::forward<Visit>(each));
  }

 private:
  std::vector<Phase> phases_;
};

}  // namespace lockstep::fold
