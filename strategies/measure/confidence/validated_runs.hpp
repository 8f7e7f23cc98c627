#pragma once

#include <filesystem>
#include <vector>

#include "sim/config/json/json.hpp"
#include "strategies/measure/confidence/confidence.hpp"

namespace lockstep {

/// Reads measured runs with the errors of their simulated step times
/// (configs/validation/residuals.json, schema configs/schema/residuals.schema.json), as `lockstep
/// validate --residuals` writes them. Throws ConfigError with every problem of the file.
[[nodiscard]] ValidatedRuns load_validated_runs(const std::filesystem::path& path);

/// configs/schema/residuals.schema.json.
[[nodiscard]] JsonValue residuals_schema();

/// Signed relative errors of simulated peak memory, from the same file; empty if it has none.
/// Throws ConfigError.
[[nodiscard]] std::vector<double> load_memory_errors(const std::filesystem::path& path);

/// The margin above a simulated peak that covers nine of ten validated runs, as a fraction of the
/// peak; 0 without runs.
[[nodiscard]] double memory_margin(const std::vector<double>& errors);

/// The same from a document in memory.
[[nodiscard]] ValidatedRuns read_validated_runs(const JsonDocument& document);

}  // namespace lockstep
