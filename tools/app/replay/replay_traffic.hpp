#pragma once

#include <cstdint>
#include <vector>

#include "sim/engine/replay.hpp"
#include "sim/schedule/workload.hpp"

namespace lockstep::app {

/// Totals of one rank in a replay.
struct RankTotals {
  TimePoint end;
  std::int64_t operations = 0;  // of the trace, one per stream
  Duration computed;
  Bytes sent;
  Bytes received;
};

/// Totals of endpoints 0 to ranks-1. Bytes of collectives are those of their schedules.
[[nodiscard]] std::vector<RankTotals> totals_of(const Workload& workload,
                                                const ReplayResult& result, int ranks);

}  // namespace lockstep::app
