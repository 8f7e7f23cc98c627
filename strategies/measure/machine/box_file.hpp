#pragma once

#include <filesystem>
#include <string>

#include "sim/config/json.hpp"
#include "strategies/measure/machine/box.hpp"

namespace lockstep {

/// As JSON (schema configs/schema/box.schema.json), the same bytes for the same box.
[[nodiscard]] std::string to_json(const Box& box);

/// Throws ConfigError with everything that is wrong with the file.
[[nodiscard]] Box load_box(const std::filesystem::path& path);
/// The same from a document in memory.
[[nodiscard]] Box read_box(const JsonDocument& document);
/// Whether a document is of a box, and no other calibration.
[[nodiscard]] bool is_box(const JsonDocument& document);

}  // namespace lockstep
