#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sim/program/timeline.hpp"

/// Small programs and timelines by hand: every operation with the interval in which it ran.
namespace lockstep {

/// A tensor of so many bytes.
inline Tensor tensor_of(std::string name, std::int64_t bytes,
                        Category category = Category::activation, bool resident = false) {
  Tensor tensor;
  tensor.name = std::move(name);
  tensor.category = category;
  tensor.dtype = Dtype::uint8;
  tensor.extents = {{Dim::hidden, bytes}};
  tensor.resident = resident;
  return tensor;
}

inline Operation operation_of(OperationKind kind, std::string name, std::vector<Ref> reads,
                              std::vector<Ref> writes, StreamId stream = kComputeStream) {
  Operation operation;
  operation.kind = kind;
  operation.name = std::move(name);
  operation.reads = std::move(reads);
  operation.writes = std::move(writes);
  operation.stream = stream;
  return operation;
}

/// The peer stands `offset` further along `over`.
inline Operation communication_of(OperationKind kind, std::string name, Ref tensor, StreamId stream,
                                  Communication communication) {
  Operation operation = operation_of(kind, std::move(name), {}, {}, stream);
  if (kind != OperationKind::receive) operation.reads = {tensor};
  if (kind != OperationKind::send) operation.writes = {tensor};
  operation.purpose = Purpose::communication;
  operation.communication = std::move(communication);
  return operation;
}

inline Communication group_of(std::string group, MeshSubAxes over, int offset = 0) {
  Communication communication;
  communication.group = std::move(group);
  communication.over = std::move(over);
  communication.offset = offset;
  return communication;
}

inline Interval interval(std::int64_t start_ps, std::int64_t end_ps) {
  return {TimePoint{Duration::picoseconds(start_ps)}, TimePoint{Duration::picoseconds(end_ps)}};
}

/// When an operation ran, and what bound it.
struct Ran {
  std::int64_t start_ps = 0;
  std::int64_t end_ps = 0;
  std::uint32_t bound_by = OperationWaits::kNothing;
};

/// Ends when the last operation does. Rank i of `ran` is rank i of the mesh.
inline TrainingStepTimeline timeline_of(Program program, const std::vector<std::vector<Ran>>& ran) {
  TrainingStepTimeline timeline;
  timeline.program = std::make_shared<const Program>(std::move(program));
  timeline.roles = unroll(*timeline.program);
  for (std::size_t i = 0; i < ran.size(); ++i) {
    RankTimeline rank;
    rank.rank = static_cast<int>(i);
    rank.role = timeline.program->role_of(rank.rank);
    for (const Ran& each : ran[i]) {
      const Interval when = interval(each.start_ps, each.end_ps);
      rank.operations.push_back(when, each.bound_by);
      timeline.end = std::max(timeline.end, when.end);
    }
    timeline.ranks.push_back(std::move(rank));
  }
  return timeline;
}

}  // namespace lockstep
