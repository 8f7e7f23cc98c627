#include "strategies/step/lowering/role_costs.hpp"

#include <cmath>

namespace lockstep {

Duration at_speed(Duration time, double speed) {
  if (speed == 1) return time;
  return Duration::picoseconds(std::llround(static_cast<double>(time.ps()) / speed));
}

void issue(Activity& activity, const HostLaunch& issued, std::uint32_t stream,
           const std::vector<ActivityRef>& places) {
  activity.not_before = issued.at;
  if (issued.after == HostLaunch::kStart) return;
  activity.launched_after = places[issued.after];
  if (activity.launched_after->stream != stream) activity.after.push_back(*activity.launched_after);
}

RoleCosts role_costs(const RoleProgram& role, const KernelTimes& kernels) {
  const Program& program = *role.program;
  const bool is_host = program.roles[role.role].host;
  RoleCosts out;
  out.longest.resize(program.streams.size());
  HostLaunch issued;
  for (const RoleOperation& operation : role.operations) {
    const Operation& of = *operation.operation;
    const bool calls = of.kind == OperationKind::collective;
    const bool computes =
        !calls && of.kind != OperationKind::send && of.kind != OperationKind::receive;
    // The host issues in order and runs ahead of the device.
    if (!is_host) issued.at = issued.at + kernels.launch_time(operation);
    const auto index = static_cast<std::uint32_t>(out.issued.size());
    out.issued.push_back(issued);
    if (kernels.host_waits(of)) issued = {TimePoint{}, index};
    out.kernels.push_back(computes ? kernels.of(role, operation) : Duration{});
    out.messages.push_back(calls ? message_of(role, operation) : Bytes{});
    out.longest[of.stream] += calls ? 2 : 1;  // a launch before
  }
  return out;
}

}  // namespace lockstep
