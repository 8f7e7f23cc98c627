#include "sim/execute/schedule/step_problem.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/execute/schedule/host_memory.hpp"

namespace lockstep {
namespace {

using MaybeProblem = std::optional<std::string>;

MaybeProblem peer_problem(const Schedule& schedule, int peer) {
  if (0 <= peer && peer < schedule.ranks()) return std::nullopt;
  return fmt::format("names rank {}, but there are {} ranks", peer, schedule.ranks());
}

MaybeProblem channel_problem(int channel) {
  if (0 <= channel && channel < kMostChannels) return std::nullopt;
  return fmt::format("names channel {}, which is not in 0 to {}", channel, kMostChannels - 1);
}

MaybeProblem chunk_problem(const Schedule& schedule, int rank, Chunk chunk) {
  const std::int64_t held = held_blocks(schedule, rank, chunk.buffer);
  if (chunk.first >= 0 && chunk.count >= 0 && chunk.count <= held &&
      chunk.first <= held - chunk.count)
    return std::nullopt;
  return fmt::format("names {} chunks from chunk {} on, of a buffer of {}", chunk.count,
                     chunk.first, held);
}

MaybeProblem reference_problem(const Schedule& schedule, int rank, ScheduleStepRef after) {
  if (0 <= after.lane && after.lane < schedule.lanes() && 0 <= after.step &&
      after.step < schedule.steps(rank, after.lane))
    return std::nullopt;
  return fmt::format("waits for step {} of lane {}, which does not exist", after.step, after.lane);
}

template <typename Transfer>
MaybeProblem transfer_problem(const Schedule& schedule, int rank, const ScheduleStep& step,
                              const Transfer& transfer) {
  if (auto problem = peer_problem(schedule, transfer.peer)) return problem;
  if (auto problem = channel_problem(transfer.channel)) return problem;
  if (auto problem = chunk_problem(schedule, rank, transfer.chunk)) return problem;
  if (transfer.more.first + std::uint64_t{transfer.more.count} > step.pieces.size())
    return fmt::format(
        "has a message of {} pieces more than it lists",
        transfer.more.first + std::uint64_t{transfer.more.count} - step.pieces.size());
  for (const Chunk& chunk : step.more(transfer.more)) {
    if (auto problem = chunk_problem(schedule, rank, chunk)) return problem;
  }
  return std::nullopt;
}

MaybeProblem local_problem(const Schedule& schedule, int rank, const LocalOperation& local) {
  if (auto problem = chunk_problem(schedule, rank, local.from)) return problem;
  if (auto problem = chunk_problem(schedule, rank, local.to)) return problem;
  if (local.from.count == local.to.count) return std::nullopt;
  return fmt::format("moves {} chunks into {} on the spot", local.from.count, local.to.count);
}

}  // namespace

MaybeProblem step_problem(const Schedule& schedule, int rank, const ScheduleStep& step) {
  for (const Send& send : step.sends) {
    if (auto problem = transfer_problem(schedule, rank, step, send)) return problem;
  }
  for (const Receive& receive : step.receives) {
    if (auto problem = transfer_problem(schedule, rank, step, receive)) return problem;
  }
  if (std::ranges::count(step.receives, true, &Receive::forwarded) > 1)
    return "forwards more than one message";
  for (const LocalOperation& local : step.locals) {
    if (auto problem = local_problem(schedule, rank, local)) return problem;
  }
  for (const ScheduleStepRef& after : step.after) {
    if (auto problem = reference_problem(schedule, rank, after)) return problem;
  }
  return std::nullopt;
}

}  // namespace lockstep
