#pragma once

#include <vector>

#include "sim/execute/command_graph/command_graph.hpp"
#include "sim/program/operation.hpp"
#include "sim/schedule/schedule.hpp"

namespace lockstep {

struct ScheduleCommandOptions {
  std::int64_t block = 1;  // elements of one of the schedule's blocks
  NumberType type = NumberType::fp32;
  Reduction reduction = Reduction::sum;
  int devices = 1;  // ranks are dealt out to them in runs: 8 ranks on 2 devices are 4 and 4
};

struct ScheduleCommands {
  CommandGraph graph;
  /// Per rank and Buffer (data, output, scratch). Of those that the schedule does not have, length
  /// 0.
  std::vector<std::vector<BufferId>> buffers{};

  [[nodiscard]] BufferId buffer(int rank, Buffer which) const {
    return buffers[static_cast<std::size_t>(rank)][static_cast<std::size_t>(which)];
  }
};

/// The device that a rank is on.
[[nodiscard]] int device_of_rank(int rank, int ranks, int devices);

/// A schedule as commands for devices: a stream for every rank and lane, so for every channel, and
/// events for all that one of them waits for from another.
/// Errors: ExecutionError if the schedule deadlocks.
[[nodiscard]] ScheduleCommands commands_of(const Schedule& schedule,
                                           const ScheduleCommandOptions& options);

}  // namespace lockstep
