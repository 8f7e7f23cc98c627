#include "sim/trace/summary.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "sim/base/check.hpp"

namespace lockstep {

namespace {

/// The computations of a role's compute stream.
[[nodiscard]] std::vector<std::uint32_t> computations_of(const RoleProgram& role) {
  std::vector<std::uint32_t> out;
  for (std::uint32_t i = 0; i < role.operations.size(); ++i) {
    const Operation& operation = *role.operations[i].operation;
    if (operation.stream == kComputeStream && !is_communication(operation)) out.push_back(i);
  }
  return out;
}

[[nodiscard]] TimePoint end_of(const RankTimeline& rank) {
  TimePoint end;
  for (const TimePoint each : rank.operations.ends()) end = std::max(end, each);
  return end;
}

struct RankUse {
  std::size_t rank = 0;
  TimePoint end;
  Duration computation;
};

[[nodiscard]] std::vector<RankUse> rank_uses(const TrainingStepTimeline& timeline) {
  std::vector<RankUse> out;
  std::vector<std::optional<std::vector<std::uint32_t>>> computations(timeline.roles.all().size());
  std::vector<std::optional<std::size_t>> last(timeline.roles.all().size());  // rank of each role
  for (std::size_t i = 0; i < timeline.ranks.size(); ++i) {
    const RankTimeline& rank = timeline.ranks[i];
    std::optional<std::vector<std::uint32_t>>& of_role = computations[rank.role];
    if (!of_role) of_role = computations_of(timeline.roles[rank.role]);
    const std::optional<std::size_t> before = std::exchange(last[rank.role], i);
    if (before && rank.operations.shares_with(timeline.ranks[*before].operations)) {
      out.push_back({i, out[*before].end, out[*before].computation});
      continue;
    }
    RankUse use{i, end_of(rank), {}};
    for (const std::uint32_t each : *of_role)
      use.computation += rank.operations.end_of(each) - rank.operations.start_of(each);
    out.push_back(use);
  }
  return out;
}

/// The rank of a role that computes longest, of equal ones the one that ends last, of those the
/// first; none if no rank of the role was simulated.
[[nodiscard]] std::optional<std::size_t> busiest_of(const TrainingStepTimeline& timeline,
                                                    std::size_t role,
                                                    const std::vector<RankUse>& uses) {
  std::optional<std::size_t> out;
  for (const RankUse& use : uses) {
    if (timeline.ranks[use.rank].role != role) continue;
    if (!out ||
        std::tie(use.computation, use.end) > std::tie(uses[*out].computation, uses[*out].end))
      out = use.rank;
  }
  return out;
}

[[nodiscard]] std::vector<StageUse> stage_uses(const Peers& peers,
                                               const std::vector<RankUse>& uses) {
  const TrainingStepTimeline& timeline = peers.timeline();
  const double step = timeline.end.since_start().seconds();
  std::vector<StageUse> out;
  for (std::size_t role = 0; role < timeline.program->roles.size(); ++role) {
    if (timeline.program->roles[role].host) continue;
    const std::optional<std::size_t> busiest = busiest_of(timeline, role, uses);
    if (!busiest) continue;
    StageUse use{role, timeline.program->roles[role].name, breakdown(peers, *busiest)};
    if (step > 0) use.idle_fraction = 1 - use.rank.computation_total().seconds() / step;
    out.push_back(std::move(use));
  }
  return out;
}

[[nodiscard]] Breakdown longest_busy(const std::vector<StageUse>& stages) {
  LOCKSTEP_CHECK(!stages.empty());
  return std::max_element(
             stages.begin(), stages.end(),
             [](const StageUse& a, const StageUse& b) { return a.rank.busy() < b.rank.busy(); })
      ->rank;
}

}  // namespace

TrainingStepSummary summarise(const TrainingStepTimeline& timeline) {
  LOCKSTEP_CHECK(!timeline.ranks.empty());
  const Peers peers{timeline};
  const std::vector<RankUse> uses = rank_uses(timeline);
  TrainingStepSummary out;
  out.step = timeline.end.since_start();
  out.stages = stage_uses(peers, uses);
  out.busiest = longest_busy(out.stages);
  out.groups = traffic_by_group(peers, out.busiest);
  const std::vector<PathSegment> path = critical_path(peers);
  out.path = shares(path);
  out.path_legs = legs(path);
  out.path_operations = operations(path, timeline);
  return out;
}

}  // namespace lockstep
