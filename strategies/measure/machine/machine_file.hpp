#pragma once

#include <filesystem>
#include <string>

#include "sim/config/json.hpp"
#include "strategies/measure/machine/measured_machine.hpp"

namespace lockstep {

/// The machine as JSON (schema configs/schema/box.schema.json); equal machines give equal bytes.
[[nodiscard]] std::string to_json(const MeasuredMachine& machine);

/// Throws ConfigError with every problem of the file.
[[nodiscard]] MeasuredMachine load_machine(const std::filesystem::path& path);
/// The same from a document in memory.
[[nodiscard]] MeasuredMachine read_machine(const JsonDocument& document);
/// Whether a document is a machine calibration.
[[nodiscard]] bool is_machine(const JsonDocument& document);

}  // namespace lockstep
