#include "strategies/step/lowering/costs/kernel_times.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "sim/program/kernel/kernel.hpp"
#include "strategies/step/lowering/costs/chunked_gemms.hpp"
#include "topologies/graph/nodes.hpp"

namespace lockstep {

KernelTimes::KernelTimes(const Program& program, const CostModel& cost, Host host)
    : program_{program},
      host_{host},
      host_waits_{cost.host_waits_for_messages()},
      host_waits_for_passes_{cost.host_waits_for_passes()},
      attention_{program, cost} {
  for (const Routine& routine : program.routines) {
    std::vector<Duration> times;
    std::vector<Duration> launches;
    for (std::size_t i = 0; i < routine.operations.size(); ++i) {
      const bool kernel = class_of(routine.operations[i].kind) != OperationClass::communication;
      const Kernel work = kernel_of(program, routine, i);
      times.push_back(kernel ? cost.time(work) : Duration{});
      launches.push_back(cost.host_time(work));
    }
    chunk_gemms(program, routine, cost, times);
    times_.push_back(std::move(times));
    launch_times_.push_back(std::move(launches));
  }
}

KernelTimes::Host KernelTimes::host_of(const Cluster& cluster, int ranks,
                                       std::optional<Rate> memory, std::optional<Rate> link) {
  const int hosts = std::max(1, coherent_cpus(cluster));
  const int of_host = (largest_node(cluster) + hosts - 1) / hosts;
  const int sharers = std::max(1, std::min(of_host, ranks));
  const auto share = memory ? std::optional{memory->scaled(1.0 / sharers)} : std::nullopt;
  return {memory, share, link};
}

bool KernelTimes::host_waits(const Operation& operation) const {
  if (operation.kind == OperationKind::check_finite || operation.host_waits) return true;
  if (!host_waits_) return false;
  const bool sends = operation.kind == OperationKind::send && operation.stream == kComputeStream;
  const bool receives = operation.kind == OperationKind::receive && operation.ahead == 0;
  return sends || receives;
}

Duration KernelTimes::of(const RoleProgram& role, const RoleOperation& operation,
                         std::uint32_t load) const {
  if (differs(operation))
    return attention_.of(operation.call.routine, operation.index_in_routine,
                         operation.call.microbatch, load);
  const bool on_host =
      std::any_of(operation.writes.begin(), operation.writes.end(),
                  [&](std::uint32_t instance) { return role.tensor(instance).on_host; });
  const bool copies = operation.operation->kind == OperationKind::host_copy;
  if (!on_host && !copies) return times_[operation.call.routine][operation.index_in_routine];
  if (operation.operation->kind == OperationKind::slice && operation.reads == operation.writes)
    return {};  // it stays where it is
  const bool is_host = program_.roles[role.role].host;
  const std::optional<Rate> rate = copies ? host_.link : is_host ? host_.memory : host_.share;
  if (!rate) return {};
  double bytes = 0;
  for (const auto* operands : {&operation.reads, &operation.writes}) {
    for (const std::uint32_t instance : *operands) {
      bytes += static_cast<double>(local_bytes(program_.mesh, role.tensor(instance)).count());
    }
  }
  if (copies) bytes /= 2;  // what is read is what is written
  return Duration::picoseconds(std::llround(bytes / rate->bytes_per_second() * 1e12));
}

}  // namespace lockstep
