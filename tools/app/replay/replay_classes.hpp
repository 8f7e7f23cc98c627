#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/engine/replay.hpp"
#include "sim/symmetry/streams/stream_fold.hpp"
#include "tools/app/collective/setup/rank_settings.hpp"
#include "tools/app/ranks/rank_ranges.hpp"

namespace lockstep::app {

/// When the times of a class part from those of the largest class with as many operations of the
/// same kinds.
struct ReplayParting {
  TimePoint at;               // the earlier end of the first operation that ends at another time
  std::string operation;      // "send to rank 3"
  std::int64_t later_ps = 0;  // of its last operation than that of the other; negative: earlier
  /// The end of the operation from which on all are later by this; none: only the last is.
  std::optional<TimePoint> again{};
};

/// Ranks of a trace that were folded into one, or, where nothing was folded, that have the same
/// times throughout.
struct ReplayClass {
  int representative = 0;
  std::int64_t ranks = 0;
  RankRanges ranges{};
  std::string difference{};  // to the largest class with as many operations; empty for that class
  std::optional<ReplayParting> parting{};  // from it; none: times are the same
};

/// In the order in which differences reach them, ranks with settings of their own before others;
/// then those with the times of the largest class, which comes first.
[[nodiscard]] std::vector<ReplayClass> replay_classes(const Workload& workload,
                                                      const ReplayResult& result,
                                                      const StreamFoldReport& fold,
                                                      const std::vector<RankSetting>& settings,
                                                      int ranks);

}  // namespace lockstep::app
