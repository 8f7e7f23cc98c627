#pragma once

#include "tools/app/replay/replay_trace_run.hpp"
#include "tools/lockstep/output/output.hpp"

namespace lockstep::cli {

/// One row that sums over all ranks, then one row per rank.
[[nodiscard]] Report report_of(const ReplayTraceRequest& request, const ReplayTraceResult& done);

}  // namespace lockstep::cli
