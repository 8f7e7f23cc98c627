#pragma once

#include <cstddef>
#include <vector>

#include "strategies/step/lowering/lowering.hpp"

namespace lockstep {

/// Costs of a role's operations, the same on every rank of load 0; all but the last per operation.
struct RoleCosts {
  std::vector<Duration> kernels{};     // of what computes
  std::vector<HostLaunch> issued{};    // when the host has issued it
  std::vector<Bytes> messages{};       // of what communicates: passed to one other, or all of it
  std::vector<std::size_t> longest{};  // per stream of the program: so many activities at the most
};

/// Makes an activity wait for its launch; `places`: where operations of the role end.
void issue(Activity& activity, const HostLaunch& issued, std::uint32_t stream,
           const std::vector<ActivityRef>& places);

/// Kernel time at a relative speed, rounded to a picosecond.
[[nodiscard]] Duration at_speed(Duration time, double speed);

[[nodiscard]] RoleCosts role_costs(const RoleProgram& role, const KernelTimes& kernels);

}  // namespace lockstep
