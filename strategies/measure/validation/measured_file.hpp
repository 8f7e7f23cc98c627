#pragma once

#include <filesystem>
#include <vector>

#include "strategies/measure/validation/measured.hpp"

/// Reads files of measured results: JSON arrays of training runs, collective tables (key
/// `collective`) and device tables (key `kind`).
namespace lockstep {

/// In file order. Throws ConfigError with every problem: unknown or missing keys, wrong types,
/// duplicate ids.
[[nodiscard]] std::vector<Measured> read_measured(const JsonDocument& document);

/// The same from a file.
[[nodiscard]] std::vector<Measured> load_measured(const std::filesystem::path& path);

/// Concatenates several files; problems of all of them are reported together.
[[nodiscard]] std::vector<Measured> load_measured(const std::vector<std::filesystem::path>& paths);

/// configs/schema/measured.schema.json.
[[nodiscard]] JsonValue measured_schema();

}  // namespace lockstep
