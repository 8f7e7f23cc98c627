#pragma once

#include <string>
#include <vector>

#include "tools/lockstep/output/output.hpp"
#include "tools/lockstep/run/run_options.hpp"

namespace lockstep::cli {

/// Text for stdout: a step and the scenario's variants. JSON: one object with schema, tool, config,
/// seed, fingerprint, results, breakdown, memory, links, and `rows`, the rows of CSV.
[[nodiscard]] std::string render_run(const RunOptions& options, const TrainingStepResult& result,
                                     const std::vector<VariantResult>& variants,
                                     const OutputStyle& style);

/// Text for a layout that does not fit; empty for tables, whose text is the error.
[[nodiscard]] std::string render_misfit(const RunOptions& options, const MemoryShortfall& shortfall,
                                        Format format);

/// Appends rows to a CSV file; a new or empty file gets the heading. Throws UsageError if the file
/// has another heading, and IoError.
void append_rows(const std::string& path, const Report& report);

}  // namespace lockstep::cli
