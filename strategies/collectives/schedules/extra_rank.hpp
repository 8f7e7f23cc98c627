#pragma once

#include "strategies/collectives/schedules/block_schedule.hpp"

namespace lockstep {

/// How n ranks map onto a core of N' = 2^floor(lg n). The first n-N' pairs (2i, 2i+1) fold: 2i+1 is
/// the extra rank, 2i its partner; neighbours mostly share a node, so the fold stays off the
/// fabric (the pairing of MPICH; Thakur, Rabenseifner and Gropp 2005, section 4.4).
class PowerOfTwoCore {
 public:
  explicit PowerOfTwoCore(int n);
  [[nodiscard]] int size() const { return 1 << exponent_; }
  [[nodiscard]] int exponent() const { return exponent_; }
  [[nodiscard]] int extras() const { return extras_; }
  [[nodiscard]] bool is_extra(int rank) const { return is_folded(rank) && rank % 2 == 1; }
  [[nodiscard]] bool is_partner(int rank) const { return is_folded(rank) && rank % 2 == 0; }
  [[nodiscard]] int index_of(int rank) const { return is_folded(rank) ? rank / 2 : rank - extras_; }
  [[nodiscard]] int rank_of(int index) const {
    return index < extras_ ? 2 * index : index + extras_;
  }

 private:
  [[nodiscard]] bool is_folded(int rank) const { return rank < 2 * extras_; }

  int exponent_;
  int extras_;
};

/// The extra-rank method: every extra rank gives its data to its partner, the core of a power of
/// two ranks does the all-reduce, the partner gives the result back. Where n is a power of two
/// there is only the core. Steps of all ranks are aligned, so that a step's index is its round:
/// who has nothing to do in a round has an empty step.
class ExtraRankSchedule : public BlockSchedule {
 public:
  [[nodiscard]] std::int64_t steps(int rank, int lane) const final;
  void step(int rank, int lane, std::int64_t index, ScheduleStep& step) const final;

 protected:
  ExtraRankSchedule(PowerOfTwoCore core, int n, std::int64_t blocks)
      : BlockSchedule(n, blocks), core_{core} {}

  [[nodiscard]] const PowerOfTwoCore& core() const { return core_; }
  [[nodiscard]] virtual std::int64_t core_steps() const = 0;
  /// What the rank with `index` in the core does; peers are ranks, found through core().rank_of().
  virtual void core_step(int core_index, std::int64_t index, ScheduleStep& step) const = 0;

 private:
  void fold(int rank, ScheduleStep& step) const;
  void unfold(int rank, ScheduleStep& step) const;

  PowerOfTwoCore core_;
};

}  // namespace lockstep
