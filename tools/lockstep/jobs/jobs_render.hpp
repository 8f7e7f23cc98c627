#pragma once

#include "tools/app/jobs/run_jobs.hpp"
#include "tools/lockstep/output/output.hpp"

namespace lockstep::cli {

/// One row per job; notes on the links that several jobs use.
[[nodiscard]] Report jobs_report(const app::JobsResult& result);

}  // namespace lockstep::cli
