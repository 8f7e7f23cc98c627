#pragma once

#include "tools/app/plan/plan.hpp"
#include "tools/lockstep/output/output.hpp"

namespace lockstep::cli {

/// The best layouts (or the front), the baselines and how every point was decided; or what was
/// asked of one layout.
[[nodiscard]] Report report_of(const PlanResult& result);

/// "tp 8, pp 4 (interleaved, 5 chunks), cp 2, dp 8, zero 1, micro-batch 1": what differs from plain
/// values.
[[nodiscard]] std::string layout_text(const ParallelConfig& parallel);

}  // namespace lockstep::cli
