#pragma once

#include <functional>
#include <string>
#include <vector>

#include "sim/execute/command_graph/backend.hpp"
#include "strategies/measure/machine/measured_machine.hpp"

namespace lockstep {

/// One case, measured and simulated with the figures of a machine.
struct MachineComparison {
  std::string group{};  // collective, layer, step
  std::string what{};   // "all_reduce ring, 4 ranks, 1 MiB fp32"
  double measured = 0;
  double simulated = 0;  // seconds

  [[nodiscard]] double error() const { return simulated / measured - 1; }
};

struct CompareOptions {
  bool quick = false;  // few cases, small ones
  int repeats = 7;
  std::function<void(const std::string& what)> before{};  // told before each case
};

/// Cases that calibration has not seen: collectives of 2 to 8 logical ranks by several algorithms
/// and sizes; layers of GPT and Llama, forward and backward; training steps. At least 30 where not
/// quick. Errors: DeviceError.
[[nodiscard]] std::vector<MachineComparison> compare_machine(Backend& backend,
                                                             const MeasuredMachine& machine,
                                                             const CompareOptions& options = {});

/// Mean |error|, over all or over a group.
[[nodiscard]] double mean_error(const std::vector<MachineComparison>& rows,
                                std::string_view group = {});

}  // namespace lockstep
