#pragma once

#include <optional>

#include "sim/schedule/schedule_traits.hpp"
#include "strategies/collectives/schedules/block_schedule.hpp"

namespace lockstep {

/// Maps n ranks onto a core of N' = 2^floor(lg n). In the first n-N' pairs (2i, 2i+1), 2i+1 is the
/// extra rank and 2i its partner. Neighbors mostly share a node, so this keeps extra ranks off the
/// fabric (as MPICH; Thakur, Rabenseifner and Gropp 2005, section 4.4).
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
  /// The moves of a schedule whose ranks exchange with others at XORs that no rank changes; none
  /// with extra ranks.
  [[nodiscard]] std::optional<BlockMoves> exchanges_alike() const {
    if (extras_ > 0) return std::nullopt;
    return BlockMoves{BlockMoves::Kind::exclusive_or, 1, size()};
  }

 private:
  [[nodiscard]] bool is_folded(int rank) const { return rank < 2 * extras_; }

  int exponent_;
  int extras_;
};

/// The extra-rank method: every extra rank sends its data to its partner, a core of a power of two
/// ranks executes the all-reduce, and partners return the result. If n is a power of two there is
/// only the core. A step's index is its round: idle ranks have empty steps.
class ExtraRankSchedule : public BlockSchedule {
 public:
  [[nodiscard]] std::int64_t steps(int rank, int lane) const final;
  void step(int rank, int lane, std::int64_t index, ScheduleStep& step) const final;

 protected:
  ExtraRankSchedule(PowerOfTwoCore core, int n, std::int64_t blocks)
      : BlockSchedule(n, blocks), core_{core} {}

  [[nodiscard]] const PowerOfTwoCore& core() const { return core_; }
  [[nodiscard]] virtual std::int64_t core_steps() const = 0;
  /// The step of the rank with `index` in the core; peers are ranks, from core().rank_of().
  virtual void core_step(int core_index, std::int64_t index, ScheduleStep& step) const = 0;

 private:
  void fold(int rank, ScheduleStep& step) const;
  void unfold(int rank, ScheduleStep& step) const;

  PowerOfTwoCore core_;
};

}  // namespace lockstep
