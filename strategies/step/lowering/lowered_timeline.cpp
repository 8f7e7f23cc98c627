#include <algorithm>
#include <cstdint>
#include <utility>

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

[[nodiscard]] TimePoint end_at(const std::vector<std::vector<TimePoint>>& ends, ActivityRef at) {
  return ends[at.stream][at.index];
}

/// Starts are when everything that an operation waits for has ended.
[[nodiscard]] RankTimeline rank_timeline(const RoleProgram& role, int rank,
                                         const LoweredProgram::Places& places,
                                         const std::vector<HostLaunch>& issued,
                                         const std::vector<std::vector<TimePoint>>& ends,
                                         std::size_t streams) {
  RankTimeline out;
  out.rank = rank;
  out.role = role.role;
  std::vector<std::uint32_t> last(streams, RankTimeline::kNothing);
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
    out.operations.push_back({start, end_at(ends, places.of(i))});
    out.bound_by.push_back(bound);
  }
  return out;
}

}  // namespace

TrainingStepTimeline timeline_of(std::shared_ptr<const Program> program,
                                 std::vector<RoleProgram> roles, const std::vector<int>& ranks,
                                 const LoweredProgram& lowered,
                                 const std::vector<std::vector<TimePoint>>& stream_ends) {
  TrainingStepTimeline out;
  out.program = std::move(program);
  out.roles = std::move(roles);
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    out.ranks.push_back(rank_timeline(out.roles[role_played(*out.program, ranks[i])], ranks[i],
                                      lowered.places[i],
                                      lowered.issued[role_played(*out.program, ranks[i])],
                                      stream_ends, out.program->streams.size()));
  }
  for (const std::vector<HostLaunch>& issued : lowered.issued)
    out.launched_after.push_back(launched_after(issued));
  return out;
}

}  // namespace lockstep
