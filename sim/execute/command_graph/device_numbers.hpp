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
  int devices = 1;  // that ranks are dealt out to
  LoadOptions load{};
};

/// For NumericOptions::run: a schedule's command graph moves the numbers on a device. All that no
/// rank holds at the start is NaN. The device must outlive it.
[[nodiscard]] std::function<std::optional<std::string>(const Schedule&, HostMemory&)>
move_on_device(Backend& device, const DeviceNumbers& how);

}  // namespace lockstep
