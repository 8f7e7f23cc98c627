#pragma once

#include "tools/app/replay/replay_trace_run.hpp"
#include "tools/lockstep/output/output.hpp"

namespace lockstep::cli {

/// A row for all ranks and one for each.
[[nodiscard]] Report report_of(const ReplayTraceRequest& request, const ReplayTraceResult& done);

}  // namespace lockstep::cli
