#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/execute/schedule_checks/contributions.hpp"

namespace lockstep::app {

/// Says in a few letters what a chunk holds: "2" what rank 2 had there at the start, "0+3" and
/// "0..3" sums of such, "6..1" one that goes on from the last rank to rank 0, "0..6/2" of every
/// second rank, "9 of 16" what has no short form, "all" the sum of all, "0:c5" what rank 0 had in
/// chunk 5, "zeros" what auxiliary ranks begin with; nothing if uninitialized.
class HoldingText {
 public:
  /// `ranks` hold data; `sums`: the collective adds up, so that of all ranks it says "all".
  HoldingText(int ranks, bool sums) : ranks_{ranks}, sums_{sums} {}

  /// What `count` chunks from `first` on hold, all alike, by what the first one does. Where `first`
  /// is -1 the place says nothing, and all is named in full.
  [[nodiscard]] std::string operator()(const Contributions& held, std::int64_t first,
                                       std::int64_t count) const;

 private:
  int ranks_;
  bool sums_;
};

/// Ascending ranks of n: "2", "0+3", "0..3", "6..1", "0..6/2", "9 of 16"; of all, where `all` is
/// wanted, "all".
[[nodiscard]] std::string rank_set_text(const std::vector<int>& ranks, int n, bool all);

/// "c5", "c0-3"; `prefix` names the buffer.
[[nodiscard]] std::string chunk_name(char prefix, std::int64_t first, std::int64_t count);

}  // namespace lockstep::app
