#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "sim/config/json/json.hpp"
#include "strategies/models/precision_recipe.hpp"
#include "topologies/devices/device.hpp"

namespace lockstep {

/// A file of configs/precisions (schema configs/schema/precision.schema.json): every parameter is
/// {"value": ..., "source": ...}.
struct PrecisionRecipeFile {
  std::string name;
  PrecisionRecipe recipe{};
  std::vector<FigureSource> sources{};
};

/// A file that `extends` another of its folder, or a shipped one of `configs`, only contains
/// differences. Throws ConfigError with every problem of the file.
[[nodiscard]] PrecisionRecipeFile load_precision_recipe(const std::filesystem::path& path,
                                                        const std::filesystem::path& configs = {});

/// The same from a document in memory.
[[nodiscard]] PrecisionRecipeFile read_precision_recipe(const JsonDocument& document,
                                                        std::string id,
                                                        const std::filesystem::path& configs = {});

/// configs/schema/precision.schema.json.
[[nodiscard]] JsonValue precision_schema();

}  // namespace lockstep
