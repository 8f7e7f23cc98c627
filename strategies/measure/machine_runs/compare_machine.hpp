#pragma once

#include <functional>
#include <string>
#include <vector>

#include "sim/execute/command_graph/backend.hpp"
#include "strategies/calibration/measured_machine.hpp"

namespace lockstep {

/// One case, measured and simulated with the parameters of a machine.
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
  std::function<void(const std::string& what)> before{};  // called before each case
};

/// Cases not used in calibration: collectives of 2 to 8 logical ranks by several algorithms and
/// sizes; layers of GPT and Llama, forward and backward; training steps. At least 30 unless quick.
/// Throws DeviceError.
[[nodiscard]] std::vector<MachineComparison> compare_machine(Backend& backend,
                                                             const MeasuredMachine& machine,
                                                             const CompareOptions& options = {});

/// Mean of |error| over all rows or one group.
[[nodiscard]] double mean_error(const std::vector<MachineComparison>& rows,
                                std::string_view group = {});

}  // namespace lockstep
