#pragma once

#include "tools/app/verify/strategy_run.hpp"
#include "tools/lockstep/output/output.hpp"

namespace lockstep::cli {

/// A section per layout: what was executed, the loss of every step next to one device's, and where
/// the weights differ most.
[[nodiscard]] Report report_of(const VerifyStrategyRequest& request,
                               const VerifyStrategyResult& result);

}  // namespace lockstep::cli
