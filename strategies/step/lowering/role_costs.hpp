#pragma once

#include <cstddef>
#include <vector>

#include "strategies/step/lowering/lowering.hpp"

namespace lockstep {

/// What the operations of a role take, whichever rank plays it. All but the last per operation.
struct RoleCosts {
  std::vector<Duration> kernels{};     // of what computes
  std::vector<HostLaunch> issued{};    // when the host has issued it
  std::vector<Bytes> messages{};       // of collectives
  std::vector<std::size_t> longest{};  // per stream of the program: so many activities at the most
};

/// Has an activity of a stream wait until the host has issued it; `places`: where operations of the
/// role end.
void issue(Activity& activity, const HostLaunch& issued, std::uint32_t stream,
           const std::vector<ActivityRef>& places);

/// Of a kernel on a rank that computes at another speed; rounded to a picosecond.
[[nodiscard]] Duration at_speed(Duration time, double speed);

[[nodiscard]] RoleCosts role_costs(const RoleProgram& role, const KernelTimes& kernels);

}  // namespace lockstep
