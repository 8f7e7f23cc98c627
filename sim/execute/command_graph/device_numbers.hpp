#pragma once

#include <functional>
#include <optional>
#include <string>

#include "sim/execute/command_graph/backend.hpp"
#include "sim/execute/schedule/host_memory.hpp"
#include "sim/schedule/schedule.hpp"

namespace lockstep {

struct DeviceNumbers {
  NumberType type = NumberType::fp32;
  int devices = 1;  // over which ranks are distributed
  LoadOptions load{};
};

/// For NumericOptions::run: executes a schedule's transfers on a device. Elements without an
/// initial value are NaN. The device must outlive the result.
[[nodiscard]] std::function<std::optional<std::string>(const Schedule&, HostMemory&)>
move_on_device(Backend& device, const DeviceNumbers& how);

}  // namespace lockstep
