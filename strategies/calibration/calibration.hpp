#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/config/json/json.hpp"
#include "strategies/calibration/cost_data.hpp"
#include "strategies/calibration/measured_machine.hpp"
#include "topologies/devices/device_kernels.hpp"

/// Parameters fitted to measurements (configs/calibration/*.json, schema
/// configs/schema/calibration.schema.json), as `lockstep calibrate` writes them. They override
/// those of configs/kernels and configs/stacks, and add the costs of collectives beyond their
/// links. A file has any of these parts, and a measured machine.
namespace lockstep {

/// Fitted parameters of one software stack.
struct StackFit {
  std::optional<Duration> host_time{};  // per kernel
  /// Factor on computation while communicating, at least 1; none: the device's.
  std::optional<double> slowdown_while_communicating{};
  Provenance provenance = Provenance::fitted;
};

struct Calibration {
  std::string name{};
  std::string summary{};
  std::vector<NcclCost> collectives{};
  std::map<std::string, KernelFigures, std::less<>> kernels{};  // by device
  std::map<std::string, StackFit, std::less<>> stacks{};        // by stack
  std::optional<MeasuredMachine> machine{};
};

/// Reads a calibration. `kernels`: folder of the kernel parameters that a device's own may extend.
/// Throws ConfigError with every problem of the file.
[[nodiscard]] Calibration load_calibration(const std::filesystem::path& path,
                                           const std::filesystem::path& kernels);

/// The same from a document in memory.
[[nodiscard]] Calibration read_calibration(const JsonDocument& document,
                                           const std::filesystem::path& kernels);

/// configs/schema/calibration.schema.json.
[[nodiscard]] JsonValue calibration_schema();

}  // namespace lockstep
