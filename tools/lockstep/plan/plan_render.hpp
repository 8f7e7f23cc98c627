#pragma once

#include "tools/app/plan/plan.hpp"
#include "tools/lockstep/output/output.hpp"

namespace lockstep::cli {

/// The best layouts or the Pareto front, the baselines, and the certificate; with `--explain`, the
/// one layout that it names.
[[nodiscard]] Report report_of(const PlanResult& result);

/// "tp 8, pp 4 (interleaved, 5 chunks), cp 2, dp 8, zero 1, micro-batch 1"; values equal to their
/// defaults are omitted.
[[nodiscard]] std::string layout_text(const ParallelConfig& parallel);

}  // namespace lockstep::cli
