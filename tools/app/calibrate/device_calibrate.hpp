#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/execute/command_graph/backend.hpp"
#include "strategies/measure/machine/measured_machine.hpp"
#include "strategies/measure/machine_runs/compare_machine.hpp"

/// `lockstep calibrate --backend`: a device measured, and the simulator compared with it.
namespace lockstep::app {

struct CalibrateDeviceRequest {
  std::string backend{};
  bool measures = true;  // else the figures of `file`
  bool compares = false;
  bool quick = false;
  int repeats = 7;
  std::string name{};                                     // of the calibration
  std::string file{};                                     // of one that was made before
  std::function<void(const std::string& what)> before{};  // called before each measurement
};

struct CalibrateDeviceResult {
  MeasuredMachine machine;
  std::vector<MachineComparison> compared{};
};

/// Errors: DeviceError for what the device cannot do, ConfigError for the file.
[[nodiscard]] CalibrateDeviceResult calibrate_device(const CalibrateDeviceRequest& request,
                                                     Backend& backend);

}  // namespace lockstep::app
