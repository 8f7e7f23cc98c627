#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "sim/config/json/json.hpp"
#include "strategies/models/precision_recipe.hpp"
#include "topologies/devices/device.hpp"

namespace lockstep {

/// Where GEMMs in 8 bits take an operand by rows or by columns: one copy of an operand with one
/// scale per tensor serves all.
struct AnyLayout {
  Precision peak = Precision::kFp4;  // that devices with such GEMMs have
  double traffic = 0;                // of a cast, bytes per element
};

/// A file of configs/precisions (schema configs/schema/precision.schema.json): every parameter is
/// {"value": ..., "source": ...}.
struct PrecisionRecipeFile {
  std::string name;
  PrecisionRecipe recipe{};
  std::optional<AnyLayout> any_layout{};
  std::vector<FigureSource> sources{};

  /// The recipe as it runs on a device.
  [[nodiscard]] PrecisionRecipe on(const Device& device) const;
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
