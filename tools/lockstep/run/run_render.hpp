#pragma once

#include <string>
#include <vector>

#include "tools/lockstep/output/output.hpp"
#include "tools/lockstep/run/run_options.hpp"

namespace lockstep::cli {

/// A step and the scenario's variants, for stdout. JSON: one object with schema, tool, config,
/// seed, fingerprint, the results of the step, breakdown, memory, links, and `rows`, the rows that
/// CSV has.
[[nodiscard]] std::string render_run(const RunOptions& options, const TrainingStepResult& result,
                                     const std::vector<VariantResult>& variants,
                                     const OutputStyle& style);

/// A layout that does not fit into memory; empty for tables, whose text is the error.
[[nodiscard]] std::string render_misfit(const RunOptions& options, const MemoryShortfall& shortfall,
                                        Format format);

/// Appends rows to a CSV file, with the heading where the file is new or empty. Throws UsageError
/// where the file has another heading, IoError.
void append_rows(const std::string& path, const Report& report);

}  // namespace lockstep::cli
