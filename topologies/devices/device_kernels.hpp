#pragma once

#include <array>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/config/json/json.hpp"
#include "sim/cost/device_model.hpp"
#include "topologies/devices/device.hpp"

/// Kernel efficiencies of a generation of devices, relative to their datasheets
/// (configs/kernels/*.json, schema configs/schema/kernels.schema.json), referenced by devices.
namespace lockstep {

struct KernelFigures {
  std::string id;  // the file's name without .json
  std::string name;
  Duration launch{};  // of memory-bound kernels
  /// By precision; a 16-bit entry also applies to the other 16-bit format and to wider ones.
  std::array<std::optional<GemmParameters>, kDtypes> gemms{};
  std::map<std::string, AttentionFigures, std::less<>> attention{};  // by implementation
  std::array<Share, kOperationClasses> memory_efficiency{};
  Share convolution_efficiency = 1;
  double slowdown_while_communicating = 1;
  /// Of one multiprocessor, over those on which stacks' KindFigures::multiprocessor_rate are
  /// measured.
  double multiprocessor_speed = 1;
  /// Relative standard deviation of times between devices of one kind under load.
  double spread = 0;
  std::vector<FigureSource> sources{};
};

/// A file that `extends` another of its folder only contains differences. Throws ConfigError with
/// every problem of the file.
[[nodiscard]] KernelFigures load_kernel_figures(const std::filesystem::path& path);

/// The same from a document in memory; `folder` contains the file that it extends.
[[nodiscard]] KernelFigures read_kernel_figures(const JsonDocument& document, std::string id,
                                                const std::filesystem::path& folder);

/// configs/schema/kernels.schema.json.
[[nodiscard]] JsonValue kernel_schema();

/// Ids of the kernel parameters in a folder (names of its .json files), sorted. Throws ConfigError
/// if the folder cannot be read.
[[nodiscard]] std::vector<std::string> kernel_figure_ids(const std::filesystem::path& folder);

}  // namespace lockstep
