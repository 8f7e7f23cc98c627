#pragma once

#include <functional>
#include <string>
#include <vector>

#include "sim/execute/command_graph/backend.hpp"
#include "strategies/measure/machine/measured_machine.hpp"

namespace lockstep {

struct MeasureOptions {
  bool quick = false;  // few sizes: to see that it works
  int repeats = 7;
  std::function<void(const std::string& what)> before{};  // told before each group
};

/// Measures memory, launches, GEMMs, attention, everything else that programs are made of, and,
/// on several GPUs, the links between them. Never on zeros; medians after a warm-up. Errors:
/// DeviceError.
[[nodiscard]] std::vector<MachineMeasurement> measure_machine(Backend& backend, bool is_host,
                                                              const MeasureOptions& options = {});

}  // namespace lockstep
