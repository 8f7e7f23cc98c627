#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/engine/replay.hpp"

namespace lockstep {

/// Part of a stream that repeats itself: operation i + `length` is operation i of a later period,
/// with the same dependencies, for all i from `first` to before `last` - `length`. Without
/// operations (`first` == `last`): nothing of the stream is between the first period and the last.
struct RepeatingPart {
  std::uint32_t first = 0;
  std::uint32_t last = 0;
  std::uint32_t length = 0;
};

struct PeriodicReplay {
  ReplayResult result;
  /// Every further period in the repeating parts would move all that comes after by this time.
  Duration period;
  /// The first of two instants of equal state; the second is a period later.
  TimePoint settled;
};

/// As replay_reusing(), for a workload whose streams all repeat themselves (`parts`, one per
/// stream) and that stands for one with more periods. Exact: at two instants a period apart nothing
/// is on the links and all streams are in the same state, relative to the instant, so that what
/// follows a further period is the same, later. `least`: the host takes that long to launch a
/// period; none of its launches may be late afterwards, then or with further periods.
/// None where there are no such instants, or where calls cannot be reused.
[[nodiscard]] std::optional<PeriodicReplay> replay_periodic(const Network& network,
                                                            const Workload& workload,
                                                            NetworkModel model,
                                                            const std::vector<RepeatingPart>& parts,
                                                            Duration least);

}  // namespace lockstep
