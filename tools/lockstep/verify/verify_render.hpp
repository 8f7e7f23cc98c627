#pragma once

#include "tools/app/verify/verify_run.hpp"
#include "tools/lockstep/output/output.hpp"

namespace lockstep::cli {

/// One row per schedule with its verdict.
[[nodiscard]] Report report_of(const VerifyCollectiveRequest& request,
                               const VerifyCollectiveResult& done);

}  // namespace lockstep::cli
