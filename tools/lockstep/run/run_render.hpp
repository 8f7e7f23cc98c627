#pragma once

#include <string>

#include "tools/lockstep/output.hpp"
#include "tools/lockstep/run/run_options.hpp"

namespace lockstep::cli {

/// What a step came to, for stdout. JSON: one object with schema, tool, config, seed, fingerprint,
/// the figures of the step, breakdown, memory, links, and `rows`, the one row that CSV has.
[[nodiscard]] std::string render_run(const RunOptions& options, const StepResult& result,
                                     Format format);

}  // namespace lockstep::cli
