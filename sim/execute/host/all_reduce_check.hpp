#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sim/execute/host/execute.hpp"
#include "sim/schedule/schedule.hpp"

/// Does a schedule add up? Runs it twice on numbers whose sum is known.
namespace lockstep {

struct AllReduceCheckOptions {
  std::uint64_t seed = 1;
  Buffer result = Buffer::data;  // where the schedule leaves the sum
  /// All buffers together. Messages that need more are checked with as many blocks of four elements
  /// at most, the last one full or not as it was.
  std::int64_t most_floats = std::int64_t{1} << 26;
};

struct WrongElement {
  int rank = 0;
  std::int64_t element = 0;
  double got = 0;
  double expected = 0;
};

struct AllReduceCheck {
  std::int64_t count = 0;         // elements checked on each rank
  bool reduced = false;           // count is fewer than asked
  bool too_large = false;         // not even one element per block fits: nothing was run
  std::int64_t wrong = 0;         // elements of all ranks, first pass: whole numbers, exact
  std::int64_t out_of_bound = 0;  // second pass: random numbers, n * eps * sum|x|
  double worst = 0;               // largest error of the second pass, as a fraction of its bound
  std::optional<WrongElement> first_wrong;  // of either pass
  ExecuteOutcome outcome;                   // of the pass that did not finish, else of the last

  [[nodiscard]] bool right() const {
    return !too_large && outcome.finished() && wrong == 0 && out_of_bound == 0;
  }
  /// Why not; empty where right().
  [[nodiscard]] std::string problem() const;
};

/// Ranks 0 .. workers-1 hold `count` elements each and must all end with the sum; the ranks after
/// them are helpers, whose data begins as zeros.
/// First pass: whole numbers so small that every order of addition is exact, so that one missing,
/// doubled or misplaced contribution shows. Second pass: numbers in [-1, 1], to within
/// n * eps * sum|x| of the sum in double precision (eps = 2^-23; Higham 2002, section 4.2).
[[nodiscard]] AllReduceCheck check_all_reduce(const Schedule& schedule, int workers,
                                              std::int64_t count,
                                              const AllReduceCheckOptions& options = {});

}  // namespace lockstep
