#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/execute/schedule_checks/contributions.hpp"

namespace lockstep::app {

/// Short notation for the contents of a chunk: "2" initial data of rank 2, "0+3" and "0..3" sums,
/// "6..1" a range that wraps around to rank 0, "0..6/2" every second rank, "9 of 16" without a
/// short form, "all" the complete sum, "0:c5" initial data of rank 0 in chunk 5, "zeros" initial
/// contents of auxiliary ranks; empty if uninitialized.
class HoldingText {
 public:
  /// `ranks`: that hold data; `sums`: the collective reduces, so the sum over all ranks is "all".
  HoldingText(int ranks, bool sums) : ranks_{ranks}, sums_{sums} {}

  /// Contents of `count` equal chunks from `first` on, by those of the first one. With `first` -1
  /// the chunk index is always written.
  [[nodiscard]] std::string operator()(const Contributions& held, std::int64_t first,
                                       std::int64_t count) const;

 private:
  int ranks_;
  bool sums_;
};

/// Ascending ranks of n: "2", "0+3", "0..3", "6..1", "0..6/2", "9 of 16"; with `all`, all ranks are
/// "all".
[[nodiscard]] std::string rank_set_text(const std::vector<int>& ranks, int n, bool all);

/// "c5", "c0-3"; `prefix` names the buffer.
[[nodiscard]] std::string chunk_name(char prefix, std::int64_t first, std::int64_t count);

}  // namespace lockstep::app
