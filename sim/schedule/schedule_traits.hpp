#pragma once

#include <cstdint>
#include <optional>

#include "sim/schedule/schedule.hpp"

/// Optional properties of schedules that let algorithms skip most of their steps.
namespace lockstep {

/// Permutations of ranks that move blocks of `block` consecutive ranks; ranks keep their position
/// in the block. For every two blocks exactly one permutation maps the one to the other.
struct BlockMoves {
  enum class Kind : std::uint8_t {
    rotation,     // permutation t maps block b to b + t modulo `blocks`
    exclusive_or  // permutation t maps block b to b XOR t; `blocks` is a power of two
  };
  Kind kind = Kind::rotation;
  int block = 1;
  int blocks = 1;

  /// The image of block `b` under the permutation that maps `to_first` to block 0.
  [[nodiscard]] int seen_from(int to_first, int b) const {
    if (kind == Kind::exclusive_or) return b ^ to_first;
    return b >= to_first ? b - to_first : b + blocks - to_first;
  }
  friend bool operator==(const BlockMoves&, const BlockMoves&) = default;
};

/// The permutations of blocks whose length is a multiple of both theirs and `unit` ranks; none if
/// they do not divide the ranks into at least two blocks.
[[nodiscard]] std::optional<BlockMoves> coarser(const BlockMoves& moves, int unit);

/// A schedule symmetric under permutations of blocks of ranks: each maps every step to the same
/// step of the image rank, with image peers. Messages have the same lengths, order, channels and
/// reductions, steps the same dependencies, and local operations the same lengths; which blocks
/// they refer to may differ.
class SymmetricSchedule {
 public:
  virtual ~SymmetricSchedule() = default;
  [[nodiscard]] virtual std::optional<BlockMoves> moves() const = 0;
};

/// A schedule whose lanes may start with empty steps.
class LateSchedule {
 public:
  virtual ~LateSchedule() = default;
  /// Earlier steps of the lane are empty. At most its number of steps.
  [[nodiscard]] virtual std::int64_t first_step(int rank, int lane) const = 0;
};

/// A schedule whose messages are of many runs of blocks, and that gives their lengths at less cost.
class SizedSchedule {
 public:
  virtual ~SizedSchedule() = default;
  /// What Schedule::step() writes, but for a message of several runs one run of as many blocks: all
  /// that its time depends on.
  virtual void sizes(int rank, int lane, std::int64_t index, ScheduleStep& step) const = 0;
};

/// A schedule whose ranks have their turn among all calls at their endpoint given: what an endpoint
/// does in one instant for several calls it does in this order, instead of that of the calls.
class TurnsAtEndpoints {
 public:
  virtual ~TurnsAtEndpoints() = default;
  [[nodiscard]] virtual std::uint32_t turn(int rank) const = 0;
};

/// The permutations of a schedule; none if it does not declare any.
[[nodiscard]] std::optional<BlockMoves> moves_of(const Schedule& schedule);

/// Reads steps as far as times depend on them: sizes() where the schedule has them. The schedule
/// must outlive it.
class StepSizes {
 public:
  explicit StepSizes(const Schedule& schedule)
      : schedule_{&schedule}, sized_{dynamic_cast<const SizedSchedule*>(&schedule)} {}
  /// `step` must be cleared.
  void read(int rank, int lane, std::int64_t index, ScheduleStep& step) const {
    if (sized_ != nullptr) {
      sized_->sizes(rank, lane, index, step);
    } else {
      schedule_->step(rank, lane, index, step);
    }
  }

 private:
  const Schedule* schedule_;
  const SizedSchedule* sized_;
};

/// The first step of a lane that may be nonempty.
[[nodiscard]] std::int64_t first_step(const Schedule& schedule, int rank, int lane);

}  // namespace lockstep
