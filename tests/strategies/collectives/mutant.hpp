#pragma once

#include <map>
#include <tuple>
#include <utility>

#include "strategies/collectives/algorithm.hpp"

namespace lockstep {

/// A schedule with some of its steps changed.
class Mutant final : public Schedule {
 public:
  explicit Mutant(SchedulePtr base) : base_{std::move(base)} {}

  /// The step as it is now, to be changed.
  ScheduleStep& at(int rank, int lane, std::int64_t index) {
    const auto [found, is_new] = changed_.try_emplace({rank, lane, index});
    if (is_new) base_->step(rank, lane, index, found->second);
    return found->second;
  }

  [[nodiscard]] int ranks() const override { return base_->ranks(); }
  [[nodiscard]] int lanes() const override { return base_->lanes(); }
  [[nodiscard]] int slots() const override { return base_->slots(); }
  [[nodiscard]] std::int64_t blocks() const override { return base_->blocks(); }
  [[nodiscard]] std::int64_t scratch_blocks(int rank) const override {
    return base_->scratch_blocks(rank);
  }
  [[nodiscard]] Buffer result() const override { return base_->result(); }
  [[nodiscard]] std::int64_t steps(int rank, int lane) const override {
    return base_->steps(rank, lane);
  }
  void step(int rank, int lane, std::int64_t index, ScheduleStep& step) const override {
    const auto found = changed_.find({rank, lane, index});
    if (found == changed_.end()) return base_->step(rank, lane, index, step);
    step = found->second;
  }

 private:
  SchedulePtr base_;
  std::map<std::tuple<int, int, std::int64_t>, ScheduleStep> changed_;
};

}  // namespace lockstep
