#include "strategies/step/repeating_parts.hpp"

#include <algorithm>
#include <cstdint>

#include "sim/base/check.hpp"
#include "sim/program/communicator.hpp"
#include "sim/trace/memory/peak_memory.hpp"

namespace lockstep {

namespace {

/// As RepeatingCalls, in operations of the unrolled role.
struct RepeatingOperations {
  std::size_t first = 0;
  std::size_t last = 0;
  std::size_t length = 0;
};

[[nodiscard]] RepeatingOperations operations_of(const ShortenedProgram& of, std::size_t role) {
  const std::vector<Call>& calls = of.program.roles[role].calls;
  const RepeatingCalls& repeats = of.periods.roles[role];
  const auto count = [&](std::size_t from, std::size_t to) {
    std::size_t out = 0;
    for (std::size_t i = from; i < to; ++i)
      out += of.program.routines[calls[i].routine].operations.size();
    return out;
  };
  RepeatingOperations out;
  out.first = count(0, repeats.first);
  out.last = out.first + count(repeats.first, repeats.last);
  out.length = count(repeats.first, repeats.first + repeats.length);
  return out;
}

/// Longer than any period.
constexpr Duration kForever = Duration::picoseconds(INT64_MAX / 4);

/// Time in which the host launches a period. None where it waits for messages in each: it is then
/// never more ahead than in an earlier period. Where it has waited before them, it gains on the
/// device from then on, which nobody counts.
[[nodiscard]] Duration launch_of(const RepeatingOperations& repeats,
                                 const std::vector<HostLaunch>& issued) {
  const HostLaunch& begin = issued[repeats.first];
  const HostLaunch& end = issued[repeats.first + repeats.length];
  if (begin.after != end.after) return {};
  return begin.after == HostLaunch::kStart ? end.at - begin.at : kForever;
}

}  // namespace

std::vector<RepeatingPart> repeating_parts(const ShortenedProgram& program,
                                           const std::vector<RoleProgram>& roles,
                                           const std::vector<int>& ranks,
                                           const LoweredProgram& lowered) {
  std::vector<RepeatingPart> out(lowered.workload.streams.size());
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const std::size_t role = role_played(program.program, ranks[i]);
    const RepeatingOperations repeats = operations_of(program, role);
    const Duration launch = launch_of(repeats, lowered.issued[role]);
    for (std::size_t operation = 0; operation < roles[role].operations.size(); ++operation) {
      const ActivityRef place = lowered.places[i].of(operation);
      RepeatingPart& part = out[place.stream];
      const std::uint32_t end = place.index + 1;
      if (operation < repeats.first) part = {end, end, 0};
      part.launch = launch;
      if (operation >= repeats.first && operation < repeats.last) part.last = end;
      if (operation >= repeats.first && operation < repeats.first + repeats.length)
        part.length = end - part.first;
    }
  }
  return out;
}

std::optional<Bytes> peak_with_all_periods(const ShortenedProgram& program, const RoleProgram& role,
                                           const RankTimeline& rank,
                                           const PeriodicReplay& replayed) {
  const RepeatingOperations repeats = operations_of(program, role.role);
  const TimePoint to = replayed.settled + replayed.period;
  MemoryPeriod period{replayed.settled, to, std::vector<bool>(role.instances.size())};
  std::vector<TimePoint> last(role.instances.size());
  for (std::size_t i = 0; i < role.operations.size(); ++i)
    for (const IndexList* list : {&role.operations[i].reads, &role.operations[i].writes})
      for (const std::uint32_t instance : *list) {
        last[instance] = std::max(last[instance], rank.operations.end_of(i));
        const Tensor& tensor = role.tensor(instance);
        if (tensor.resident || tensor.scope == Scope::microbatch) continue;
        if (i >= repeats.first && i < repeats.last) period.throughout[instance] = true;
      }
  if (program.left_out == 1)
    for (std::size_t i = 0; i < last.size(); ++i)
      if (period.throughout[i] && last[i] < to) return std::nullopt;
  return std::max(peak_memory(role, rank), peak_memory_in(role, rank, period)) +
         resident_of_left_out(program, role);
}

/// Every microbatch has the same inputs, so each has an equal part.
Bytes resident_of_left_out(const ShortenedProgram& program, const RoleProgram& role) {
  std::int64_t bytes = 0;
  int microbatches = 0;
  for (const TensorInstance& instance : role.instances) {
    const Tensor& tensor = program.program.tensors[instance.tensor];
    if (!tensor.resident || tensor.on_host || tensor.scope != Scope::microbatch) continue;
    bytes += local_bytes(program.program.mesh, tensor).count();
    microbatches = std::max(microbatches, instance.microbatch + 1);
  }
  if (microbatches == 0) return {};
  LOCKSTEP_CHECK(bytes % microbatches == 0);
  return Bytes{bytes / microbatches} *
         (static_cast<std::int64_t>(program.left_out) * program.periods.microbatches);
}

}  // namespace lockstep
