#pragma once

#include <vector>

#include "sim/execute/command_graph/command_graph.hpp"
#include "sim/program/operation.hpp"
#include "sim/schedule/schedule.hpp"

namespace lockstep {

struct ScheduleCommandOptions {
  std::int64_t block = 1;  // elements per block of the schedule
  NumberType type = NumberType::fp32;
  Reduction reduction = Reduction::sum;
  int devices = 1;  // ranks are distributed in contiguous groups: 8 ranks on 2 devices are 4 and 4
};

struct ScheduleCommands {
  CommandGraph graph;
  /// Per rank and Buffer (data, output, scratch); length 0 for unused ones.
  std::vector<std::vector<BufferId>> buffers{};

  [[nodiscard]] BufferId buffer(int rank, Buffer which) const {
    return buffers[static_cast<std::size_t>(rank)][static_cast<std::size_t>(which)];
  }
};

/// The device of a rank.
[[nodiscard]] int device_of_rank(int rank, int ranks, int devices);

/// A schedule as commands for devices: one stream per rank and lane, and events between them.
/// Throws ExecutionError if the schedule deadlocks.
[[nodiscard]] ScheduleCommands commands_of(const Schedule& schedule,
                                           const ScheduleCommandOptions& options);

}  // namespace lockstep
