#pragma once

#include <string>
#include <vector>

#include "tools/app/jobs/run_jobs.hpp"
#include "tools/lockstep/output/output.hpp"

namespace lockstep::cli {

/// `changes`: of each job, as options. One row per job; notes on the links that several jobs use.
[[nodiscard]] Report jobs_report(const app::JobsResult& result,
                                 const std::vector<std::string>& changes);

}  // namespace lockstep::cli
