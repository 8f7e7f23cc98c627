#pragma once

#include <string>
#include <vector>

#include "strategies/measure/confidence/confidence.hpp"

/// What of a run no validated run has.
namespace lockstep {

/// Fewer validated runs of a model do not decide an interval: those that may be of one group among
/// the nearest.
inline constexpr std::size_t kFewRuns = 8;

/// "a100-sxm4-80gb" and "a100-sxm4-40gb" are of one family.
[[nodiscard]] std::string gpu_family(const std::string& gpu);

/// Properties outside the validated domain. The fabric, the NIC bandwidth of a GPU and the GPUs of
/// a node are compared with validated runs of the same family of GPUs, if there are any: what a
/// faster GPU waits for, a slower one may hide. Requires at least one run.
[[nodiscard]] std::vector<ExtrapolatedProperty> extrapolated_properties(
    const RunKind& kind, const std::vector<ValidatedRun>& checked);

/// Runs of the same model, if they are fewer than kFewRuns.
[[nodiscard]] std::vector<ValidatedRun> few_runs_of_model(const RunKind& kind,
                                                          const std::vector<ValidatedRun>& checked);

}  // namespace lockstep
