#include <algorithm>
#include <cstdint>
#include <utility>

#include "sim/program/communicator.hpp"
#include "strategies/step/lowering/lowering.hpp"

namespace lockstep {

namespace {

/// What the host waited for last before it launched each operation of a role; empty where it never
/// waits.
[[nodiscard]] std::vector<std::uint32_t> launched_after(const std::vector<HostLaunch>& issued) {
  static_assert(HostLaunch::kStart == RankTimeline::kNothing);
  if (issued.empty() || issued.back().after == HostLaunch::kStart) return {};
  std::vector<std::uint32_t> out;
  out.reserve(issued.size());
  for (const HostLaunch& each : issued) out.push_back(each.after);
  return out;
}

}  // namespace

RankTimeline rank_timeline(const RoleProgram& role, int rank, const LoweredProgram::Places& places,
                           const std::vector<HostLaunch>& issued,
                           const std::vector<std::vector<TimePoint>>& stream_ends) {
  RankTimeline out;
  out.rank = rank;
  out.role = role.role;
  out.operations.resize(role.operations.size());
  out.bound_by.resize(role.operations.size());
  std::vector<std::uint32_t> last(role.program->streams.size(), RankTimeline::kNothing);
  for (std::uint32_t i = 0; i < role.operations.size(); ++i) {
    const StreamId stream = role.operations[i].operation->stream;
    TimePoint start;
    std::uint32_t bound = RankTimeline::kNothing;
    const auto wait_for = [&](std::uint32_t before) {
      if (bound != RankTimeline::kNothing && out.operations[before].end <= start) return;
      start = std::max(start, out.operations[before].end);
      bound = before;
    };
    if (last[stream] != RankTimeline::kNothing) wait_for(last[stream]);
    for (const std::uint32_t before : role.operations[i].after) wait_for(before);
    const HostLaunch& issue = issued[i];
    const TimePoint from =
        issue.after == HostLaunch::kStart ? TimePoint{} : out.operations[issue.after].end;
    const TimePoint by_host = from + (issue.at - TimePoint{});
    if (by_host > start) {
      start = by_host;
      bound = RankTimeline::kHost;
    }
    last[stream] = i;
    const ActivityRef at = places.of(i);
    out.operations[i] = {start, stream_ends[at.stream][at.index]};
    out.bound_by[i] = bound;
  }
  return out;
}

TrainingStepTimeline timeline_of(std::shared_ptr<const Program> program, RolePrograms roles,
                                 const std::vector<int>& ranks, const LoweredProgram& lowered,
                                 std::vector<std::vector<TimePoint>> stream_ends) {
  TrainingStepTimeline out;
  out.program = std::move(program);
  out.roles = std::move(roles);
  out.ranks.reserve(ranks.size());
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const std::size_t role = role_played(*out.program, ranks[i]);
    out.ranks.push_back(rank_timeline(out.roles[role], ranks[i], lowered.places[i],
                                      lowered.issued[role], stream_ends));
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
