#pragma once

#include <string>

#include "tools/app/jobs/run_jobs.hpp"

namespace lockstep::cli {

/// A page of one HTML file: the step of each job alone and next to the others, the table.
[[nodiscard]] std::string jobs_page(const app::JobsResult& result);

}  // namespace lockstep::cli
