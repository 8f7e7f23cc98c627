#pragma once

#include <filesystem>
#include <vector>

#include "sim/config/json.hpp"
#include "strategies/measure/confidence/confidence.hpp"

namespace lockstep {

/// Runs that were measured and the errors of their simulated step times
/// (configs/validation/residuals.json, schema configs/schema/residuals.schema.json); `lockstep
/// validate --residuals` writes such files. Throws ConfigError with everything that is wrong.
[[nodiscard]] std::vector<ValidatedRun> load_validated_runs(const std::filesystem::path& path);

/// Signed relative errors of the simulated peak memory of measured runs, from the same file; empty
/// where it has none. Throws ConfigError.
[[nodiscard]] std::vector<double> load_memory_errors(const std::filesystem::path& path);

/// By what share peaks of validated runs exceed simulated ones, in nine of ten of them at most; 0
/// of none.
[[nodiscard]] double memory_margin(const std::vector<double>& errors);

/// The same from a document in memory.
[[nodiscard]] std::vector<ValidatedRun> read_checked_runs(const JsonDocument& document);

}  // namespace lockstep
