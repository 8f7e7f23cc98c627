#include "sim/execute/host/step_problem.hpp"

#include <fmt/format.h>

#include "sim/execute/host/host_memory.hpp"

namespace lockstep {
namespace {

using MaybeProblem = std::optional<std::string>;

MaybeProblem peer_problem(const Schedule& schedule, int peer) {
  if (0 <= peer && peer < schedule.ranks()) return std::nullopt;
  return fmt::format("names rank {}, but there are {} ranks", peer, schedule.ranks());
}

MaybeProblem chunk_problem(const Schedule& schedule, int rank, Chunk chunk) {
  const std::int64_t held = held_blocks(schedule, rank, chunk.buffer);
  if (chunk.first >= 0 && chunk.count >= 0 && chunk.count <= held &&
      chunk.first <= held - chunk.count)
    return std::nullopt;
  return fmt::format("names {} blocks from block {} on, of a buffer of {}", chunk.count,
                     chunk.first, held);
}

MaybeProblem reference_problem(const Schedule& schedule, int rank, StepRef after) {
  if (0 <= after.lane && after.lane < schedule.lanes() && 0 <= after.step &&
      after.step < schedule.steps(rank, after.lane))
    return std::nullopt;
  return fmt::format("waits for step {} of lane {}, which does not exist", after.step, after.lane);
}

template <typename Transfer>
MaybeProblem transfer_problem(const Schedule& schedule, int rank, const Transfer& transfer) {
  if (auto problem = peer_problem(schedule, transfer.peer)) return problem;
  return chunk_problem(schedule, rank, transfer.chunk);
}

}  // namespace

MaybeProblem step_problem(const Schedule& schedule, int rank, const Step& step) {
  for (const Send& send : step.sends) {
    if (auto problem = transfer_problem(schedule, rank, send)) return problem;
  }
  for (const Receive& receive : step.receives) {
    if (auto problem = transfer_problem(schedule, rank, receive)) return problem;
  }
  for (const StepRef& after : step.after) {
    if (auto problem = reference_problem(schedule, rank, after)) return problem;
  }
  return std::nullopt;
}

}  // namespace lockstep
