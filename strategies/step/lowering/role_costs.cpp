#include "strategies/step/lowering/role_costs.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

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

namespace {

/// What an operation of a routine takes, whatever it is called for.
struct OperationCosts {
  Duration kernel;
  Bytes message;
  Duration issue;
  bool host_waits = false;
  std::size_t activities = 1;
};

[[nodiscard]] Bytes passed_bytes(const RoleProgram& role, const RoleOperation& operation) {
  switch (operation.operation->kind) {
    case OperationKind::collective:
      return message_of(role, operation);
    case OperationKind::send:
    case OperationKind::receive:
      return local_bytes(role.program->mesh, role.tensor(carried(operation)));
    default:
      return {};
  }
}

[[nodiscard]] OperationCosts costs_of(const RoleProgram& role, const RoleOperation& operation,
                                      const KernelTimes& kernels) {
  const Operation& of = *operation.operation;
  const bool calls = of.kind == OperationKind::collective;
  OperationCosts out;
  if (!row_of(of.kind).exchange) out.kernel = kernels.of(role, operation);
  out.message = passed_bytes(role, operation);
  out.issue = kernels.launch_time(operation);
  out.host_waits = kernels.host_waits(of);
  if (calls) out.activities = 2;  // a launch before
  return out;
}

/// Of every routine that a role calls, filled in when it is called first.
class RoutineCosts {
 public:
  RoutineCosts(const RoleProgram& role, const KernelTimes& kernels)
      : role_{role}, kernels_{kernels}, routines_(role.program->routines.size()) {}

  [[nodiscard]] const OperationCosts& of(const RoleOperation& operation) {
    std::vector<OperationCosts>& routine = routines_[operation.call.routine];
    if (operation.index_in_routine == routine.size())
      routine.push_back(costs_of(role_, operation, kernels_));
    return routine[operation.index_in_routine];
  }

 private:
  const RoleProgram& role_;
  const KernelTimes& kernels_;
  std::vector<std::vector<OperationCosts>> routines_;
};

/// Which pass of which microbatch an operation belongs to.
struct Pass {
  enum class Way : std::uint8_t { forward, backward, none };
  Way way = Way::none;
  int microbatch = 0;

  friend bool operator==(const Pass&, const Pass&) = default;
};

[[nodiscard]] Pass::Way way_of(const Routine& routine) {
  const auto has = [&routine](Purpose purpose) {
    return std::any_of(routine.operations.begin(), routine.operations.end(),
                       [purpose](const Operation& one) { return one.purpose == purpose; });
  };
  if (has(Purpose::backward)) return Pass::Way::backward;
  return has(Purpose::forward) ? Pass::Way::forward : Pass::Way::none;
}

/// Ends of passes in a role's order of operations.
class Passes {
 public:
  explicit Passes(const Program& program) {
    for (const Routine& routine : program.routines) ways_.push_back(way_of(routine));
  }

  /// The last computation of the pass that ended before the operation at `index`; none: none ended.
  [[nodiscard]] std::optional<std::uint32_t> ended(const RoleOperation& operation,
                                                   std::uint32_t index) {
    const Pass::Way way = ways_[operation.call.routine];
    const Pass pass{way, way == Pass::Way::none ? 0 : operation.call.microbatch};
    std::optional<std::uint32_t> out;
    if (!(pass == current_) && current_.way != Pass::Way::none) out = last_;
    current_ = pass;
    if (operation.operation->stream == kComputeStream) last_ = index;
    return out;
  }

 private:
  std::vector<Pass::Way> ways_;
  Pass current_;
  std::uint32_t last_ = 0;
};

}  // namespace

RoleCosts role_costs(const RoleProgram& role, const KernelTimes& kernels) {
  const Program& program = *role.program;
  const bool is_host = program.roles[role.role].host;
  RoutineCosts routines{role, kernels};
  RoleCosts out;
  out.longest.resize(program.streams.size());
  out.issued.reserve(role.operations.size());
  out.kernels.reserve(role.operations.size());
  out.messages.reserve(role.operations.size());
  Passes passes{program};
  HostLaunch issued;
  for (const RoleOperation& operation : role.operations) {
    const OperationCosts& costs = routines.of(operation);
    const auto index = static_cast<std::uint32_t>(out.issued.size());
    const std::optional<std::uint32_t> ended = passes.ended(operation, index);
    if (ended && kernels.host_waits_for_passes()) issued = {TimePoint{}, *ended};
    // The host issues in order and runs ahead of the device.
    if (!is_host) issued.at = issued.at + costs.issue;
    out.issued.push_back(issued);
    if (costs.host_waits) issued = {TimePoint{}, index};
    out.kernels.push_back(kernels.differs(operation) ? kernels.of(role, operation) : costs.kernel);
    out.messages.push_back(costs.message);
    out.longest[operation.operation->stream] += costs.activities;
  }
  return out;
}

}  // namespace lockstep
