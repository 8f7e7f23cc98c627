#pragma once

#include <filesystem>
#include <string>

#include "sim/config/json.hpp"
#include "strategies/measure/machine/measured_machine.hpp"

namespace lockstep {

/// As JSON (schema configs/schema/box.schema.json), the same bytes for the same machine.
[[nodiscard]] std::string to_json(const MeasuredMachine& machine);

/// Throws ConfigError with everything that is wrong with the file.
[[nodiscard]] MeasuredMachine load_machine(const std::filesystem::path& path);
/// The same from a document in memory.
[[nodiscard]] MeasuredMachine read_machine(const JsonDocument& document);
/// Whether a document is of a machine, and no other calibration.
[[nodiscard]] bool is_machine(const JsonDocument& document);

}  // namespace lockstep
