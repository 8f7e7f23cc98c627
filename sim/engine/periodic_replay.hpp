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
  Duration launch{};  // time in which the host launches the operations of all streams in a period
};

struct PeriodicReplay {
  ReplayResult result;
  /// Every further period in the repeating parts would move all that comes after by this time.
  Duration period;
  /// The first of two instants of equal state; the second is a period later.
  TimePoint settled;
};

/// As replay_reusing(), for a workload whose streams all repeat themselves (`parts`, one per
/// stream) and that stands for one with `left_out` more periods; what comes after the repeating
/// parts is as in that one. Exact: at two instants a period apart nothing is on the links and all
/// streams are in the same state, relative to the instant, so that what follows a further period is
/// the same, later. No launch is late then, and a period takes no less time than its launches;
/// launches after it are as much ahead of the device as in the longer workload.
/// None where there are no such instants, or where calls cannot be reused.
[[nodiscard]] std::optional<PeriodicReplay> replay_periodic(const Network& network,
                                                            const Workload& workload,
                                                            NetworkModel model,
                                                            const std::vector<RepeatingPart>& parts,
                                                            std::int64_t left_out);

}  // namespace lockstep
