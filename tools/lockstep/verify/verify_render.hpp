#pragma once

#include <string>
#include <vector>

#include "tools/app/verify/verify_run.hpp"
#include "tools/lockstep/output/output.hpp"

namespace lockstep::cli {

/// One row per schedule with its verdict.
[[nodiscard]] Report report_of(const VerifyCollectiveRequest& request,
                               const VerifyCollectiveResult& done);

/// Why there is no report, with each schedule that is skipped.
[[nodiscard]] std::string nothing_to_verify(const std::vector<SkippedSchedule>& skipped);

/// "all_reduce ring, 4 ranks: ..." of a schedule with a problem.
[[nodiscard]] std::string refusal_text(const VerifiedSchedule& wrong);

}  // namespace lockstep::cli
