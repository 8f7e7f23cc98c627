#include "tools/app/replay/replay_traffic.hpp"

#include <algorithm>
#include <map>

namespace lockstep::app {

namespace {

struct Blocks {
  std::int64_t sent = 0;
  std::int64_t received = 0;
};

Blocks blocks_of(const ScheduleStep& step) {
  Blocks out;
  for (const Send& send : step.sends) out.sent += step.blocks_of(send);
  for (const Receive& receive : step.receives) out.received += step.blocks_of(receive);
  return out;
}

/// How many steps repeat what stands at `index`; 1 outside of phases.
std::int64_t repeats(const std::vector<lockstep::Phase>& phases, std::int64_t index,
                     std::int64_t end) {
  for (const lockstep::Phase& phase : phases)
    if (index >= phase.first && index < phase.first + phase.count)
      return std::min(end, phase.first + phase.count) - index;
  return 1;
}

Blocks blocks_of(const Schedule& schedule, int rank) {
  Blocks out;
  ScheduleStep step;
  const std::vector<lockstep::Phase> phases = schedule.phases();
  for (int lane = 0; lane < schedule.lanes(); ++lane) {
    const std::int64_t steps = schedule.steps(rank, lane);
    for (std::int64_t i = 0; i < steps;) {
      step.clear();
      schedule.step(rank, lane, i, step);
      const Blocks one = blocks_of(step);
      const std::int64_t times = repeats(phases, i, steps);
      out.sent += one.sent * times;
      out.received += one.received * times;
      i += times;
    }
  }
  return out;
}

class Totals {
 public:
  Totals(const Workload& workload, int ranks)
      : workload_{workload}, totals_(static_cast<std::size_t>(ranks)) {}

  void add(const Stream& stream, const StreamEnds::Row& ends) {
    RankTotals& total = totals_.at(stream.endpoint);
    ++total.operations;
    for (std::size_t i = 0; i < ends.size(); ++i) {
      add(stream.operations[i], total);
      total.end = std::max(total.end, ends[i]);
    }
  }

  std::vector<RankTotals> totals() && { return std::move(totals_); }

 private:
  void add(const Activity& operation, RankTotals& total) {
    switch (operation.kind) {
      case Activity::Kind::compute:
        total.computed += operation.duration;
        return;
      case Activity::Kind::send:
        total.sent += operation.size;
        return;
      case Activity::Kind::receive:
        total.received += operation.size;
        return;
      case Activity::Kind::collective: {
        const CollectiveCall& call = workload_.calls[operation.call];
        const Blocks& blocks = per_rank(*call.schedule)[operation.member];
        total.sent += call.block * blocks.sent;
        total.received += call.block * blocks.received;
        return;
      }
    }
  }

  const std::vector<Blocks>& per_rank(const Schedule& schedule) {
    const auto [found, fresh] = walked_.try_emplace(&schedule);
    if (fresh)
      for (int rank = 0; rank < schedule.ranks(); ++rank)
        found->second.push_back(blocks_of(schedule, rank));
    return found->second;
  }

  const Workload& workload_;
  std::vector<RankTotals> totals_;
  std::map<const Schedule*, std::vector<Blocks>> walked_;
};

}  // namespace

std::vector<RankTotals> totals_of(const Workload& workload, const ReplayResult& result, int ranks) {
  Totals totals(workload, ranks);
  for (std::size_t s = 0; s < workload.streams.size(); ++s)
    totals.add(workload.streams[s], result.stream_ends[s]);
  return std::move(totals).totals();
}

}  // namespace lockstep::app
