#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sim/schedule/schedule.hpp"

namespace lockstep::fold {

/// The steps of a lane, those that a phase repeats once with how often they happen.
class StepCounts {
 public:
  explicit StepCounts(std::vector<Phase> phases) : phases_{std::move(phases)} {}

  template <typename Visit>  // visit(index, times)
  void visit(std::int64_t steps, Visit&& visit) const {
    std::int64_t index = 0;
    for (const Phase& phase : phases_) {
      for (; index < std::min(phase.first, steps); ++index) visit(index, std::int64_t{1});
      const std::int64_t times = std::min(phase.count, steps - index);
      if (times <= 0) break;
      visit(index, times);
      index += times;
    }
    for (; index < steps; ++index) visit(index, std::int64_t{1});
  }

  [[nodiscard]] const std::vector<Phase>& phases() const { return phases_; }

 private:
  std::vector<Phase> phases_;
};

}  // namespace lockstep::fold
