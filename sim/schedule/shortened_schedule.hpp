#pragma once

#include "sim/schedule/schedule.hpp"

namespace lockstep {

/// A schedule in which one phase is shortened to its first `kept` steps on every lane that executes
/// it. Dependencies on the last step of the phase or later steps are preserved.
class ShortenedSchedule final : public Schedule {
 public:
  /// `whole` must outlive this object. Requires 0 < kept < phase.count.
  ShortenedSchedule(const Schedule& whole, Phase phase, std::int64_t kept)
      : whole_{whole}, phase_{phase}, kept_{kept} {}

  [[nodiscard]] int ranks() const override { return whole_.ranks(); }
  [[nodiscard]] int lanes() const override { return whole_.lanes(); }
  [[nodiscard]] int slots() const override { return whole_.slots(); }
  [[nodiscard]] std::int64_t blocks() const override { return whole_.blocks(); }
  [[nodiscard]] std::int64_t steps(int rank, int lane) const override;
  void step(int rank, int lane, std::int64_t index, ScheduleStep& step) const override;

  [[nodiscard]] Phase phase() const { return {phase_.first, kept_}; }
  [[nodiscard]] std::int64_t left_out() const { return phase_.count - kept_; }
  /// Whether every lane executes either the whole phase or none of it.
  [[nodiscard]] bool is_complete() const;

 private:
  const Schedule& whole_;
  Phase phase_;
  std::int64_t kept_;
};

}  // namespace lockstep
