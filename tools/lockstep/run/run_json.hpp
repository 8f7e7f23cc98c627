#pragma once

#include <string>
#include <vector>

#include "tools/app/json.hpp"
#include "tools/lockstep/run/run_options.hpp"

namespace lockstep::cli {

[[nodiscard]] std::string json_of_run(const RunOptions& options, const TrainingStepResult& result,
                                      const std::vector<VariantResult>& variants);

/// How a step is simulated, apart from its scenario: "run" of a result's config.
[[nodiscard]] app::Json run_options_json(const RunOptions& options);

/// How many classes the ranks were folded into; where asked for the classes themselves, compared
/// with the largest of the role and, as "from_unchanged", with the step without changes.
[[nodiscard]] app::Json fold_json(const RunOptions& options, const TrainingStepResult& result);

/// Of all times of the step.
[[nodiscard]] std::string fingerprint_of_run(const TrainingStepResult& result);

/// For a layout that does not fit: configuration, memory and changes that fit, without times.
[[nodiscard]] std::string json_of_misfit(const RunOptions& options,
                                         const MemoryShortfall& shortfall);

}  // namespace lockstep::cli
