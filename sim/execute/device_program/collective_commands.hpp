#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "sim/execute/command_graph/command_graph_builder.hpp"
#include "sim/execute/device_kernels/kernel_launch.hpp"
#include "sim/execute/kernels/part_layout.hpp"
#include "sim/program/operation.hpp"
#include "sim/schedule/schedule.hpp"

namespace lockstep::execution {

/// One member's part of one tensor in a collective.
struct CollectivePart {
  const PartLayout* from = nullptr;  // null: contributes nothing
  Region brought{};
  const PartLayout* to = nullptr;  // null: receives nothing
  Region got{};
  bool adds = false;  // accumulates into the current contents
};

template <class Real>
struct CollectiveTensors {
  const Communication* how = nullptr;
  int root = 0;
  std::vector<int> members{};
  std::vector<StreamIndex> streams{};                // of each member's operation
  std::vector<std::vector<CollectivePart>> parts{};  // per tensor and member
};

/// What a collective needs from the command graph of the step.
struct CollectiveRoom {
  std::function<CommandId(StreamIndex, const KernelLaunch&, std::vector<Region> reads,
                          std::vector<Region> writes)>
      launch{};
  std::function<BufferId(int rank, StreamIndex, std::size_t which, std::int64_t elements,
                         NumberType)>
      spare{};
  std::function<StreamIndex(int rank, StreamIndex own, int lane)> lane{};
  CommandGraphBuilder* builder = nullptr;
};

/// Packs members' parts into messages, transfers them by the schedule and unpacks results, as the
/// host executor does (sim/execute/program/scheduled_exchange.hpp). Without a schedule the host
/// computes the result directly. Throws ExecutionError if parts do not cover the result.
template <class Real>
void plan_collective(const CollectiveTensors<Real>& tensors, const Schedule* schedule,
                     const CollectiveRoom& room);

}  // namespace lockstep::execution
