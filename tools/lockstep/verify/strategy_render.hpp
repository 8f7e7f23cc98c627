#pragma once

#include "tools/app/verify/strategy_run.hpp"
#include "tools/lockstep/output/output.hpp"

namespace lockstep::cli {

/// A section per layout: what was executed, the loss of every step compared with one device's, and
/// the largest difference of weights.
[[nodiscard]] Report report_of(const VerifyStrategyRequest& request,
                               const VerifyStrategyResult& result);

}  // namespace lockstep::cli
