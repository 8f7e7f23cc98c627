#pragma once

#include <string>

#include "sim/trace/breakdown.hpp"

namespace lockstep::app {

/// The largest share of time on the busiest stage: "compute" (GEMMs, attention, convolutions),
/// "memory" (all other kernels), a group of exposed communication ("tp", "dp", ...), "pipeline"
/// (the bubble) or "launch" (the host).
[[nodiscard]] std::string regime_of(const Breakdown& busiest);

}  // namespace lockstep::app
