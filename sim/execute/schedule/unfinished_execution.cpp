#include "sim/execute/schedule/unfinished_execution.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "sim/base/check.hpp"
#include "sim/execute/schedule/chunk_text.hpp"
#include "sim/schedule/wait_cycle.hpp"

namespace lockstep::posted {
namespace {

constexpr std::size_t kBlockedShown = 8;

std::vector<LanePosition> positions(const HaltedExecution& of) {
  std::vector<LanePosition> out;
  out.reserve(of.lanes.size());
  for (std::size_t lane = 0; lane < of.lanes.size(); ++lane)
    out.push_back({of.lanes[lane].done, of.lanes[lane].begun, {}, {}});
  for (const Connection& between : of.connections.all()) {
    between.sends.each(of.sends, [&](const PostedSend& send) {
      if (!send.over) out[send.lane].open_sends.push_back(send.place);
    });
    between.receives.each(of.receives, [&](const PostedReceive& receive) {
      out[receive.lane].open_receives.push_back(receive.place);
    });
  }
  for (LanePosition& position : out) {
    std::ranges::sort(position.open_sends);
    std::ranges::sort(position.open_receives);
  }
  return out;
}

/// The first transfer of `step` that is not complete.
std::string open_transfer(const ScheduleStep& step, const LanePosition& position) {
  if (!position.open_sends.empty()) {
    const Send& send = step.sends[position.open_sends.front()];
    return fmt::format("to send {} to rank {}", in_chunks(step.blocks_of(send)), send.peer);
  }
  LOCKSTEP_CHECK(!position.open_receives.empty());
  const Receive& receive = step.receives[position.open_receives.front()];
  return fmt::format("to receive {} from rank {}", in_chunks(step.blocks_of(receive)),
                     receive.peer);
}

BlockedLane blocked_lane(const HaltedExecution& of, std::size_t lane,
                         const LanePosition& position) {
  const ScheduleStepIndex at = of.lanes.current(lane);
  ScheduleStep step;
  of.schedule.step(at.rank, at.lane, at.step, step);
  const ScheduleStepRef* missing = position.begun ? nullptr : of.lanes.first_missing(lane, step);
  const std::string waits_for = missing != nullptr ? fmt::format("for lane {} to finish step {}",
                                                                 missing->lane, missing->step)
                                                   : open_transfer(step, position);
  return {at.rank, at.lane, at.step, waits_for};
}

void report_blocked_lanes(const HaltedExecution& of, ExecuteOutcome& outcome) {
  const std::vector<LanePosition> at = positions(of);
  for (std::size_t lane = 0; lane < of.lanes.size(); ++lane) {
    if (of.lanes[lane].done == of.lanes[lane].steps) continue;
    ++outcome.blocked_lanes;
    if (outcome.blocked.size() < kBlockedShown)
      outcome.blocked.push_back(blocked_lane(of, lane, at[lane]));
  }
  if (outcome.blocked.empty()) return;
  const BlockedLane& first = outcome.blocked.front();
  fail(outcome, {first.rank, first.lane, first.step}, "waits " + first.waits_for,
       ExecuteOutcome::Kind::stuck);
  outcome.waits = wait_cycle(of.schedule, at);
}

/// With slots a message may have left without a receive that matches. Names the sender of lowest
/// rank.
void report_unmatched_send(const HaltedExecution& of, ExecuteOutcome& outcome) {
  const PostedSend* first = nullptr;
  int to = 0;
  for (const Connection& between : of.connections.all()) {
    if (between.sends.size == 0) continue;
    const PostedSend& send = of.sends[between.sends.first];
    if (first != nullptr && std::pair{first->lane, to} <= std::pair{send.lane, between.to})
      continue;
    first = &send;
    to = between.to;
  }
  if (first == nullptr) return;
  fail(outcome, {of.lanes.rank_of(first->lane), of.lanes.lane_of(first->lane), first->step},
       fmt::format("sends to rank {} without a matching receive", to),
       ExecuteOutcome::Kind::malformed);
}

}  // namespace

void report_unfinished(const HaltedExecution& execution, ExecuteOutcome& outcome) {
  report_blocked_lanes(execution, outcome);
  if (outcome.finished()) report_unmatched_send(execution, outcome);
}

void fail(ExecuteOutcome& outcome, const ScheduleStepIndex& at, const std::string& what,
          ExecuteOutcome::Kind kind) {
  outcome.kind = kind;
  outcome.at = at;
  outcome.problem = fmt::format("rank {}, lane {}, step {} {}", at.rank, at.lane, at.step, what);
}

}  // namespace lockstep::posted
