#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "sim/config/json/json.hpp"

namespace lockstep::app {

/// Uncertainty of a figure, from the errors of validated measurements.
struct FigureSpread {
  std::string figure;                     // "matmul rate"
  std::vector<std::string> kernels{};     // of the devices it is of; empty: all
  std::vector<std::string> precisions{};  // of the GEMMs it is of; empty: all
  double spread = 0;                      // relative, to both sides
  std::int64_t rows = 0;                  // measurements it comes from
};

/// In the order of the file (configs/validation/spreads.json, schema
/// configs/schema/spreads.schema.json). Throws ConfigError with every problem of the file.
[[nodiscard]] std::vector<FigureSpread> load_spreads(const std::filesystem::path& path);

/// The same from a document in memory.
[[nodiscard]] std::vector<FigureSpread> read_spreads(const JsonDocument& document);

/// configs/schema/spreads.schema.json.
[[nodiscard]] JsonValue spreads_schema();

/// The first that is of a figure, a device and a precision; nullptr: none.
[[nodiscard]] const FigureSpread* spread_of(const std::vector<FigureSpread>& spreads,
                                            const std::string& figure, const std::string& kernels,
                                            const std::string& precision);

}  // namespace lockstep::app
