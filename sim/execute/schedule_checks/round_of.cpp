#include "sim/execute/schedule_checks/round_of.hpp"

#include <algorithm>
#include <vector>

#include "sim/execute/schedule/no_content.hpp"
#include "sim/execute/schedule_checks/rounds.hpp"

namespace lockstep {
namespace {

bool meet(const Chunk& a, const Chunk& b) {
  return a.buffer == b.buffer && a.first < b.first + b.count && b.first < a.first + a.count;
}

bool meet(const std::vector<Chunk>& runs, const Chunk& chunk) {
  return std::ranges::any_of(runs, [&](const Chunk& run) { return meet(run, chunk); });
}

/// Whether the step touches the chunk in that round.
bool touches(const Round& round, const ScheduleStepIndex& place, const Chunk& chunk) {
  const auto by_message = [&](const RoundMessage& message) {
    return (message.receiver == place && meet(message.received, chunk)) ||
           (message.sender == place && meet(message.sent, chunk));
  };
  const auto on_the_spot = [&](const RoundLocal& local) {
    return local.place == place &&
           (meet(local.operation.from, chunk) || meet(local.operation.to, chunk));
  };
  return std::ranges::any_of(round.messages, by_message) ||
         std::ranges::any_of(round.locals, on_the_spot);
}

}  // namespace

std::optional<std::int64_t> round_of(const Schedule& schedule, const ScheduleStepIndex& place,
                                     const Chunk& chunk, std::optional<int> slots) {
  NoContent nothing;
  RoundSimulator cursor{schedule, nothing, slots};
  std::optional<std::int64_t> found;
  Round round;
  while (cursor.next(round))
    if (touches(round, place, chunk)) found = round.number;
  const std::optional<RoundStop>& stop = cursor.stopped();
  if (!found && stop && stop->place == place) found = stop->round;
  return found;
}

}  // namespace lockstep
