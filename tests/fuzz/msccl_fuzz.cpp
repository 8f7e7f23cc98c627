#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "sim/config/json/config_error.hpp"
#include "sim/execute/schedule/execute.hpp"
#include "sim/execute/schedule/step_problem.hpp"
#include "strategies/interop/msccl/msccl.hpp"

using namespace lockstep;

namespace {

constexpr std::int64_t kMostBlocks = 1 << 14;  // of all ranks, for what is executed

/// What must hold of every error: it has a problem, and each says something.
void check(const ConfigError& error) {
  if (error.problems().empty() || error.total() < error.problems().size()) std::abort();
  for (const Problem& problem : error.problems()) {
    if (problem.message.empty()) std::abort();
  }
}

/// What must hold of every schedule that was read: no step asks for what cannot be, and every step
/// has a place in the file.
void check_steps(const MscclSchedule& schedule) {
  ScheduleStep step;
  for (int rank = 0; rank < schedule.ranks(); ++rank) {
    for (int lane = 0; lane < schedule.lanes(); ++lane) {
      for (std::int64_t i = 0; i < schedule.steps(rank, lane); ++i) {
        step.clear();
        schedule.step(rank, lane, i, step);
        if (step_problem(schedule, rank, step) || schedule.place(rank, lane, i).empty())
          std::abort();
      }
    }
  }
}

/// It may be stuck, but what it sends is received.
void check_run(const MscclSchedule& schedule) {
  std::int64_t blocks = 0;
  for (int rank = 0; rank < schedule.ranks(); ++rank)
    blocks += 2 * schedule.blocks() + schedule.scratch_blocks(rank);
  if (blocks > kMostBlocks) return;
  HostMemory memory;
  memory.block_elements = 1;
  memory.ranks.resize(static_cast<std::size_t>(schedule.ranks()));
  for (RankMemory& rank : memory.ranks)
    rank.data.resize(static_cast<std::size_t>(schedule.blocks()));
  if (execute(schedule, memory).kind == ExecuteOutcome::Kind::malformed) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const MscclImport read =
        parse_msccl(std::string_view{reinterpret_cast<const char*>(data), size}, "fuzz");
    check_steps(*read.schedule);
    check_run(*read.schedule);
  } catch (const ConfigError& error) {
    check(error);
  }
  return 0;
}
