#include <cstdint>
#include <memory>
#include <utility>

#include "sim/program/communicator.hpp"
#include "strategies/step/lowering/lowering.hpp"

namespace lockstep {

namespace {

/// What the host waited for last before it launched each operation of a role; empty where it never
/// waits.
[[nodiscard]] std::vector<std::uint32_t> launched_after(const std::vector<HostLaunch>& issued) {
  static_assert(HostLaunch::kStart == OperationWaits::kNothing);
  if (issued.empty() || issued.back().after == HostLaunch::kStart) return {};
  std::vector<std::uint32_t> out;
  out.reserve(issued.size());
  for (const HostLaunch& each : issued) out.push_back(each.after);
  return out;
}

}  // namespace

RankTimeline rank_timeline(const RoleProgram& role, int rank, const LoweredProgram::Places& places,
                           std::shared_ptr<const OperationWaits> waits,
                           const std::vector<std::vector<TimePoint>>& stream_ends) {
  std::vector<TimePoint> ends(role.operations.size());
  for (std::uint32_t i = 0; i < ends.size(); ++i) {
    const ActivityRef at = places.of(i);
    ends[i] = stream_ends[at.stream][at.index];
  }
  return {rank, role.role, OperationTimes{std::move(ends), std::move(waits)}};
}

TrainingStepTimeline timeline_of(std::shared_ptr<const Program> program, RolePrograms roles,
                                 const std::vector<int>& ranks, const LoweredProgram& lowered,
                                 std::vector<std::vector<TimePoint>> stream_ends) {
  TrainingStepTimeline out;
  out.program = std::move(program);
  out.roles = std::move(roles);
  out.ranks.reserve(ranks.size());
  std::vector<std::shared_ptr<const OperationWaits>> waits(out.roles.all().size());
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const std::size_t role = role_played(*out.program, ranks[i]);
    if (waits[role] == nullptr)
      waits[role] = std::make_shared<OperationWaits>(out.roles[role], lowered.issued[role]);
    out.ranks.push_back(
        rank_timeline(out.roles[role], ranks[i], lowered.places[i], waits[role], stream_ends));
    const std::size_t end =
        i + 1 < ranks.size() ? lowered.places[i + 1].first_stream : lowered.workload.streams.size();
    for (std::size_t stream = lowered.places[i].first_stream; stream < end; ++stream)
      stream_ends[stream] = {};
  }
  for (const std::vector<HostLaunch>& issued : lowered.issued)
    out.launched_after.push_back(launched_after(issued));
  return out;
}

}  // namespace lockstep
