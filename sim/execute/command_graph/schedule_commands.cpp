#include "sim/execute/command_graph/schedule_commands.hpp"

#include <fmt/format.h>

#include <array>

#include "sim/base/math.hpp"
#include "sim/execute/command_graph/schedule_expansion.hpp"
#include "sim/execute/kernels/execution_error.hpp"
#include "sim/execute/schedule/execute.hpp"

namespace lockstep {

namespace {

constexpr std::array kBuffers{Buffer::data, Buffer::output, Buffer::scratch};
constexpr std::array kNames{"data", "output", "scratch"};

/// Output is there only where the result lies in it.
[[nodiscard]] std::int64_t blocks_in(const Schedule& schedule, int rank, Buffer which) {
  if (which == Buffer::scratch) return schedule.scratch_blocks(rank);
  return schedule.blocks();
}

void add_rank(CommandGraphBuilder& builder, const Schedule& schedule,
              const ScheduleCommandOptions& options, int rank, ScheduleCommands& out) {
  const int device = device_of_rank(rank, schedule.ranks(), options.devices);
  auto& buffers = out.buffers.emplace_back();
  for (std::size_t i = 0; i < kBuffers.size(); ++i) {
    buffers.push_back(builder.add_buffer(fmt::format("rank {} {}", rank, kNames[i]), device,
                                         options.type,
                                         blocks_in(schedule, rank, kBuffers[i]) * options.block));
  }
  for (int lane = 0; lane < schedule.lanes(); ++lane) {
    builder.add_stream(fmt::format("rank {} lane {}", rank, lane), device);
  }
}

}  // namespace

int device_of_rank(int rank, int ranks, int devices) {
  const int each = ceil_div(ranks, devices);
  return rank / each;
}

ScheduleCommands commands_of(const Schedule& schedule, const ScheduleCommandOptions& options) {
  ScheduleCommands out;
  CommandGraphBuilder builder{options.devices};
  for (int rank = 0; rank < schedule.ranks(); ++rank) {
    add_rank(builder, schedule, options, rank, out);
  }
  SchedulePlaces places;
  places.block = options.block;
  places.type = options.type;
  places.reduction = options.reduction;
  places.buffer = [&out](int rank, Buffer which) { return out.buffer(rank, which); };
  places.stream = [&schedule](int rank, int lane) {
    return static_cast<StreamIndex>(rank * schedule.lanes() + lane);
  };
  ScheduleExpansion expansion{builder, schedule, places};
  const ExecuteOutcome outcome = execute(schedule, expansion, {.observer = &expansion});
  if (!outcome.finished()) {
    throw ExecutionError{outcome.problem.empty() ? "deadlock: the schedule never completes"
                                                 : outcome.problem};
  }
  out.graph = builder.take();
  return out;
}

}  // namespace lockstep
