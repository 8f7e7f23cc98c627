#pragma once

#include <string>
#include <vector>

#include "tools/lockstep/output/output.hpp"
#include "tools/lockstep/run/run_options.hpp"

namespace lockstep::cli {

/// A step as one row: layout, configuration and, if simulated, results.
struct RunRow {
  std::string variant{};  // empty: the scenario itself
  const Scenario* scenario = nullptr;
  const RankMemory* memory = nullptr;
  const TrainingStepResult* result = nullptr;  // none: it does not fit into memory
};

/// Equal columns for every scenario, with units in keys. `options`: the options of all rows.
[[nodiscard]] Report report_of_rows(const RunOptions& options, const std::vector<RunRow>& rows);

/// The row of a step, then those of the scenario's variants.
[[nodiscard]] std::vector<RunRow> rows_of_run(const TrainingStepResult& result,
                                              const std::vector<VariantResult>& variants);

}  // namespace lockstep::cli
