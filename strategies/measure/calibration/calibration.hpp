#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/config/json.hpp"
#include "strategies/nccl/cost/cost_data.hpp"
#include "topologies/devices/device_kernels.hpp"

/// Figures fitted to measurements, that go before those of configs/kernels and configs/stacks and
/// say what collectives cost in addition to their links (configs/calibration/*.json, schema
/// configs/schema/calibration.schema.json). `lockstep calibrate` writes such files.
namespace lockstep {

/// Of one software stack.
struct StackFit {
  std::optional<Duration> host_time{};  // per kernel
  /// Of computation while communicating, at least 1; none: the device's.
  std::optional<double> slowdown_while_communicating{};
};

struct Calibration {
  std::string name{};
  std::string summary{};
  std::vector<NcclCost> collectives{};
  std::map<std::string, KernelFigures, std::less<>> kernels{};  // by device
  std::map<std::string, StackFit, std::less<>> stacks{};        // by stack
};

/// `kernels` is the folder of the figures that a device's own may extend.
/// Throws ConfigError with everything that is wrong with the file.
[[nodiscard]] Calibration load_calibration(const std::filesystem::path& path,
                                           const std::filesystem::path& kernels);

/// The same from a document in memory.
[[nodiscard]] Calibration read_calibration(const JsonDocument& document,
                                           const std::filesystem::path& kernels);

/// Only what it says of collectives; the rest is left unread.
[[nodiscard]] std::vector<NcclCost> load_collective_costs(const std::filesystem::path& path);

}  // namespace lockstep
