#pragma once

#include <string>

#include "sim/trace/breakdown.hpp"

namespace lockstep::app {

/// What the stage that is busy longest spends most on: "compute" (GEMMs, attention, convolutions),
/// "memory" (all other kernels), a group of exposed communication ("tp", "dp", ...), "pipeline"
/// (the bubble) or "launch" (the host).
[[nodiscard]] std::string regime_of(const Breakdown& busiest);

}  // namespace lockstep::app
