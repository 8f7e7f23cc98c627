#pragma once

#include <functional>
#include <string>
#include <vector>

#include "sim/execute/command_graph/backend.hpp"
#include "strategies/calibration/measured_machine.hpp"

namespace lockstep {

struct MeasureOptions {
  bool quick = false;  // few sizes, as a smoke test
  int repeats = 7;
  std::function<void(const std::string& what)> before{};  // called before each group
};

/// Measures memory, launches, GEMMs, attention, all other operations and, with several GPUs, their
/// links: medians after a warm-up, on nonzero data. Throws DeviceError.
[[nodiscard]] std::vector<MachineMeasurement> measure_machine(Backend& backend, bool is_host,
                                                              const MeasureOptions& options = {});

}  // namespace lockstep
