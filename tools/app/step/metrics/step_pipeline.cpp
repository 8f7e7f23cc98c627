#include "tools/app/step/metrics/step_pipeline.hpp"

#include <algorithm>

#include "sim/trace/peers.hpp"

namespace lockstep::app {

namespace {

/// Gaps between passes and at both ends of the step.
std::vector<Interval> gaps(const std::vector<Pass>& passes, TimePoint end) {
  std::vector<Interval> out;
  TimePoint last;
  for (const Pass& pass : passes) {
    if (pass.interval.start > last) out.push_back({last, pass.interval.start});
    last = std::max(last, pass.interval.end);
  }
  if (end > last) out.push_back({last, end});
  return out;
}

/// The parts of collectives that lie in gaps; those that touch within one group are joined.
std::vector<ExposedCommunication> exposed_between(const Peers& peers, std::size_t rank,
                                                  const std::vector<Interval>& gaps) {
  const RankTimeline& timeline = peers.timeline().ranks[rank];
  const RoleProgram& role = peers.timeline().roles[timeline.role];
  std::vector<std::uint32_t> order;
  for (std::uint32_t i = 0; i < timeline.operations.size(); ++i)
    if (role.operations[i].operation->kind == OperationKind::collective) order.push_back(i);
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return timeline.operations.start_of(a) < timeline.operations.start_of(b);
  });
  std::vector<ExposedCommunication> out;
  TimePoint covered;
  for (const std::uint32_t i : order) {
    const TimePoint begin = std::max(covered, peers.transfer_start({rank, i}));
    const TimePoint end = timeline.operations.end_of(i);
    if (end <= begin) continue;
    covered = end;
    const std::string group = peers.group(*role.operations[i].operation);
    auto gap = std::partition_point(gaps.begin(), gaps.end(),
                                    [&](const Interval& one) { return one.end <= begin; });
    for (; gap != gaps.end() && gap->start < end; ++gap) {
      const Interval part{std::max(begin, gap->start), std::min(end, gap->end)};
      const bool joins =
          !out.empty() && out.back().group == group && out.back().interval.end == part.start;
      if (joins) {
        out.back().interval.end = part.end;
      } else {
        out.push_back({group, part});
      }
    }
  }
  return out;
}

}  // namespace

std::vector<StagePasses> stage_passes(const TrainingStepTimeline& timeline,
                                      const TrainingStepSummary& summary) {
  const Peers peers(timeline);
  std::vector<StagePasses> out;
  for (const StageUse& use : summary.stages) {
    const std::size_t index = use.rank.rank;
    const RankTimeline& rank = timeline.ranks[index];
    StagePasses stage{
        use.name, static_cast<std::size_t>(rank.rank), passes(timeline.roles[rank.role], rank), {}};
    stage.exposed = exposed_between(peers, index, gaps(stage.passes, timeline.end));
    out.push_back(std::move(stage));
  }
  return out;
}

}  // namespace lockstep::app
