#pragma once

#include <string>
#include <vector>

#include "tools/lockstep/run/run_options.hpp"

namespace lockstep::cli {

/// A training step as a page: headline with the critical path and the suggestions, then where the
/// time goes, the pipeline, memory and links, each as a figure and as a table.
[[nodiscard]] std::string run_page(const RunOptions& options, const TrainingStepResult& result,
                                   const std::vector<VariantResult>& variants);

}  // namespace lockstep::cli
