#pragma once

#include <string>
#include <vector>

#include "tools/app/jobs/run_jobs.hpp"

namespace lockstep::cli {

/// A page of one HTML file: the step of each job alone and next to the others, the table.
/// `changes`: of each job, as options.
[[nodiscard]] std::string jobs_page(const app::JobsResult& result,
                                    const std::vector<std::string>& changes);

}  // namespace lockstep::cli
