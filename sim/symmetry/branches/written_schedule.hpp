#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "sim/schedule/schedule.hpp"

namespace lockstep::fold {

/// A schedule with all steps stored, for repeated replays.
class WrittenSchedule final : public Schedule {
 public:
  explicit WrittenSchedule(const Schedule& of);

  [[nodiscard]] int ranks() const override { return ranks_; }
  [[nodiscard]] int lanes() const override { return lanes_; }
  [[nodiscard]] int slots() const override { return slots_; }
  [[nodiscard]] std::int64_t blocks() const override { return blocks_; }
  [[nodiscard]] std::int64_t steps(int rank, int lane) const override;
  void step(int rank, int lane, std::int64_t index, ScheduleStep& step) const override;
  [[nodiscard]] std::vector<Phase> phases() const override { return phases_; }

 private:
  [[nodiscard]] const std::vector<ScheduleStep>& list(int rank, int lane) const;

  int ranks_;
  int lanes_;
  int slots_;
  std::int64_t blocks_;
  std::vector<Phase> phases_;
  std::vector<std::vector<ScheduleStep>> steps_;  // per rank and lane
};

/// Stores a schedule; returns it unchanged if it has more than `most_steps` steps.
[[nodiscard]] std::shared_ptr<const Schedule> written(std::shared_ptr<const Schedule> of,
                                                      std::int64_t most_steps);

}  // namespace lockstep::fold
