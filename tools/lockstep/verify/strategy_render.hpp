#pragma once

#include "tools/lockstep/output.hpp"
#include "tools/lockstep/verify/strategy_run.hpp"

namespace lockstep::cli {

/// A section per plan: what was executed, the loss of every step beside one device's, and where
/// the weights differ most.
[[nodiscard]] Report report_of(const StrategyQuestion& question, const StrategyAnswer& answer);

}  // namespace lockstep::cli
