#pragma once

#include "tools/app/verify/verify_run.hpp"
#include "tools/lockstep/output/output.hpp"

namespace lockstep::cli {

/// A row for each schedule, right or wrong.
[[nodiscard]] Report report_of(const VerifyCollectiveRequest& request,
                               const VerifyCollectiveResult& done);

}  // namespace lockstep::cli
