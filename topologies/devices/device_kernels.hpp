#pragma once

#include <array>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/config/json.hpp"
#include "sim/cost/device_model.hpp"
#include "topologies/devices/device.hpp"

/// How well the kernels of one generation of devices use what the datasheets promise. One JSON file
/// each (configs/kernels/*.json, schema configs/schema/kernels.schema.json); devices name theirs.
namespace lockstep {

struct KernelFigures {
  std::string id;  // the file's name without .json
  std::string name;
  Duration launch{};  // of kernels that memory bounds
  /// By precision; those of 16 bits also serve for the other 16-bit format and for wider ones.
  std::array<std::optional<GemmParameters>, kDtypes> gemms{};
  std::map<std::string, AttentionFigures, std::less<>> attention{};  // by implementation
  std::array<Share, kOperationClasses> memory_efficiency{};
  Share convolution_efficiency = 1;
  double slowdown_while_communicating = 1;
  /// Standard deviation of the times of devices of one kind under load, over their mean.
  double spread = 0;
  std::vector<FigureSource> sources{};
};

/// A file that `extends` another of its folder says only what differs.
/// Throws ConfigError with everything that is wrong with the file.
[[nodiscard]] KernelFigures load_kernel_figures(const std::filesystem::path& path);

/// The same from a document in memory; `folder` is where the file that it extends lies.
[[nodiscard]] KernelFigures read_kernel_figures(const JsonDocument& document, std::string id,
                                                const std::filesystem::path& folder);

/// The ids of the kernel figures in a folder (names of its .json files), sorted.
/// Throws ConfigError where it cannot be read.
[[nodiscard]] std::vector<std::string> kernel_figure_ids(const std::filesystem::path& folder);

}  // namespace lockstep
