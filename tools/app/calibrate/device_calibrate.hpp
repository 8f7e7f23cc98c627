#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/execute/command_graph/backend.hpp"
#include "strategies/calibration/measured_machine.hpp"
#include "strategies/measure/machine_runs/compare_machine.hpp"

/// `lockstep calibrate --backend`: measures a device and compares it with the simulation.
namespace lockstep::app {

struct CalibrateDeviceRequest {
  std::string backend{};
  bool measures = true;  // false: use the parameters of `file`
  bool compares = false;
  bool quick = false;
  int repeats = 7;
  std::string name{};                                     // of the calibration
  std::string file{};                                     // of an existing calibration
  std::function<void(const std::string& what)> before{};  // called before each measurement
};

struct CalibrateDeviceResult {
  MeasuredMachine machine;
  std::vector<MachineComparison> compared{};
};

/// Throws DeviceError for a failing device, ConfigError for the file.
[[nodiscard]] CalibrateDeviceResult calibrate_device(const CalibrateDeviceRequest& request,
                                                     Backend& backend);

}  // namespace lockstep::app
