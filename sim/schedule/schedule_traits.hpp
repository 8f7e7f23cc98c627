#pragma once

#include <cstdint>
#include <optional>

#include "sim/schedule/schedule.hpp"

/// What only some schedules can say of themselves, so that who walks them need not visit all of
/// their steps.
namespace lockstep {

/// Moves of ranks that lie in `blocks` blocks of `block` consecutive ones; a rank keeps its place
/// in the block. For every two blocks exactly one move takes the one to the other.
struct BlockMoves {
  enum class Kind : std::uint8_t {
    rotation,     // move t takes block b to b + t, modulo `blocks`
    exclusive_or  // move t takes block b to b XOR t; `blocks` is a power of two
  };
  Kind kind = Kind::rotation;
  int block = 1;
  int blocks = 1;

  /// The block that block `b` comes to when block `to_first` is moved to block 0.
  [[nodiscard]] int seen_from(int to_first, int b) const {
    if (kind == Kind::exclusive_or) return b ^ to_first;
    return b >= to_first ? b - to_first : b + blocks - to_first;
  }
  friend bool operator==(const BlockMoves&, const BlockMoves&) = default;
};

/// The moves with blocks as long as a multiple of theirs and of `unit` ranks; none where those do
/// not divide the ranks into at least two blocks.
[[nodiscard]] std::optional<BlockMoves> coarser(const BlockMoves& moves, int unit);

/// A schedule that looks the same from every block: a move of all its ranks maps each step to the
/// same step of the moved rank, with moved peers. Messages are as many blocks long, come in the
/// same order over the same channels and are reduced alike, steps wait for the same steps, and the
/// work in a rank's own memory is as long in all; which blocks are meant may differ.
class SymmetricSchedule {
 public:
  virtual ~SymmetricSchedule() = default;
  [[nodiscard]] virtual std::optional<BlockMoves> moves() const = 0;
};

/// A schedule whose lanes may have nothing to do at first.
class LateSchedule {
 public:
  virtual ~LateSchedule() = default;
  /// Steps of the lane before this one are empty. At most its number of steps.
  [[nodiscard]] virtual std::int64_t first_step(int rank, int lane) const = 0;
};

/// The moves of a schedule; none where it does not say.
[[nodiscard]] std::optional<BlockMoves> moves_of(const Schedule& schedule);
/// The first step of a lane that may not be empty.
[[nodiscard]] std::int64_t first_step(const Schedule& schedule, int rank, int lane);

}  // namespace lockstep
