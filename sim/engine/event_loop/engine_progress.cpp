#include <algorithm>
#include <optional>

#include "sim/engine/event_loop/engine.hpp"
#include "sim/reuse/schedule_step_counts.hpp"
#include "sim/schedule/schedule_traits.hpp"

namespace lockstep {
namespace {

// Between reports, some hundredths of a second: instants of streams; instants and arrivals of
// collectives, each of which may take a solve of many shares.
constexpr std::uint64_t kBetweenStreams = 1 << 16;
constexpr std::uint64_t kBetweenCalls = 1 << 13;

/// Messages of a collective, repeated steps counted without walking them.
std::uint64_t messages_of(const CollectiveCall& call) {
  if (call.takes) return 0;
  const Schedule& schedule = *call.schedule;
  const StepSizes sizes{schedule};
  const fold::ScheduleStepCounts counts{schedule.phases()};
  ScheduleStep step;
  std::uint64_t out = 0;
  for (int rank = 0; rank < schedule.ranks(); ++rank)
    for (int lane = 0; lane < schedule.lanes(); ++lane)
      counts.visit(first_step(schedule, rank, lane), schedule.steps(rank, lane),
                   [&](std::int64_t index, std::int64_t times) {
                     step.clear();
                     sizes.read(rank, lane, index, step);
                     out += step.sends.size() * static_cast<std::uint64_t>(times);
                   });
  return out;
}

double share_of(std::uint64_t part, std::uint64_t all) {
  return all == 0 ? 0 : std::min(1.0, static_cast<double>(part) / static_cast<double>(all));
}

}  // namespace

void Engine::advance_to_end(const OnReplay& report) {
  if (!report) {
    while (advance()) {
    }
    return;
  }
  const std::uint64_t between = (streams_.size() == 0) ? kBetweenCalls : kBetweenStreams;
  std::optional<std::uint64_t> transfers;  // counted for replays that are long enough to report
  std::uint64_t next = between;
  for (std::uint64_t instants = 1; advance(); ++instants) {
    const std::uint64_t work = (streams_.size() == 0) ? instants + transfers_.finished() : instants;
    if (work < next) continue;
    if (!transfers) transfers = (streams_.size() == 0) ? transfers_of_calls() : 0;
    report(progress(*transfers));
    next = work + between;
  }
}

std::uint64_t Engine::transfers_of_calls() const {
  std::uint64_t out = 0;
  for (const CollectiveCall& call : state_.workload->calls) out += messages_of(call);
  return out;
}

ReplayProgress Engine::progress(std::uint64_t transfers) const {
  if ((streams_.size() == 0)) return {now(), share_of(transfers_.finished(), transfers)};
  std::uint64_t begun = 0;
  std::uint64_t all = 0;
  for (std::size_t s = 0; s < streams_.size(); ++s) begun += streams_[s].index;
  for (std::size_t s = 0; s < streams_.size(); ++s) all += streams_.ends().operations(s);
  return {now(), share_of(begun, all), &streams_.ends()};
}

}  // namespace lockstep
