#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/base/units.hpp"

namespace lockstep {

/// When the steps of a lane or rank end, one after the other, in picoseconds. Steps that end at
/// equal intervals are one piece, so that memory follows the changes of pace, not the steps; equal
/// ends have equal pieces.
class StepEnds {
 public:
  /// Step first + i ends at end_ps + i * takes_ps, up to the first step of the next piece.
  struct Piece {
    std::int64_t first = 0;
    std::int64_t end_ps = 0;
    std::int64_t takes_ps = 0;
    friend bool operator==(const Piece&, const Piece&) = default;
  };

  /// The next step, or the first one, which need not be step 0.
  void add(std::int64_t step, std::int64_t end_ps);
  /// The next `count` steps; the first of them ends at `end_ps`, each other `takes_ps` later.
  void add_run(std::int64_t step, std::int64_t count, std::int64_t end_ps, std::int64_t takes_ps);

  [[nodiscard]] bool empty() const { return pieces_.empty(); }
  [[nodiscard]] std::int64_t first() const { return pieces_.empty() ? 0 : pieces_.front().first; }
  /// One more than the last step; 0: none.
  [[nodiscard]] std::int64_t steps() const { return steps_; }
  [[nodiscard]] std::span<const Piece> pieces() const { return pieces_; }
  /// The step after the last one of a piece.
  [[nodiscard]] std::int64_t end_of(std::size_t piece) const {
    return piece + 1 < pieces_.size() ? pieces_[piece + 1].first : steps_;
  }
  /// The end of the last step; 0: none.
  [[nodiscard]] std::int64_t last_ps() const;
  /// The sum of all ends.
  [[nodiscard]] UInt128 sum_ps() const;
  friend bool operator==(const StepEnds&, const StepEnds&) = default;

 private:
  std::vector<Piece> pieces_;
  std::int64_t steps_ = 0;
};

/// The ends of the steps of a rank: of the latest of its lanes. A lane without a step of that
/// number counts with the end of its last one before, if any.
[[nodiscard]] StepEnds latest_of(std::span<const StepEnds> lanes);

/// Ends of the steps of many lanes, up to so many pieces in all.
class StepEndsLog {
 public:
  static constexpr std::size_t kMostPieces = std::size_t{1} << 24U;  // 400 MB

  explicit StepEndsLog(std::size_t lanes) : lanes_(lanes) {}

  void add(std::size_t lane, std::int64_t step, std::int64_t end_ps) {
    add_run(lane, step, 1, end_ps, 0);
  }
  void add_run(std::size_t lane, std::int64_t step, std::int64_t count, std::int64_t end_ps,
               std::int64_t takes_ps);
  [[nodiscard]] std::int64_t steps(std::size_t lane) const { return lanes_[lane].steps(); }
  /// False if there were more pieces; then ends are missing.
  [[nodiscard]] bool complete() const { return pieces_ <= kMostPieces; }
  [[nodiscard]] std::span<const StepEnds> lanes(std::size_t first, std::size_t count) const {
    return std::span{lanes_}.subspan(first, count);
  }

 private:
  std::vector<StepEnds> lanes_;
  std::size_t pieces_ = 0;
};

}  // namespace lockstep
