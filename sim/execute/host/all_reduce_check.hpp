#pragma once

#include <cstdint>

#include "sim/execute/host/numeric.hpp"

/// Does an all-reduce add up? On numbers alone, for messages of any length.
namespace lockstep {

struct AllReduceCheckOptions {
  std::uint64_t seed = 1;
  Buffer result = Buffer::data;  // where the schedule leaves the sum
  std::int64_t most_floats = NumericOptions{}.most_floats;
};

using AllReduceCheck = NumericVerdict;

/// Ranks 0 .. workers-1 hold `count` elements each and must all end with the sum; the ranks after
/// them are helpers, whose data begins as zeros.
[[nodiscard]] AllReduceCheck check_all_reduce(const Schedule& schedule, int workers,
                                              std::int64_t count,
                                              const AllReduceCheckOptions& options = {});

}  // namespace lockstep
