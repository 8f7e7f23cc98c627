#pragma once

#include <vector>

#include "sim/trace/peers.hpp"
#include "sim/trace/time_use.hpp"

/// The critical path of a step.
namespace lockstep {

/// A segment of the critical path on one rank.
struct PathSegment {
  std::size_t rank = 0;  // index into TrainingStepTimeline::ranks
  TimeUse use{};
  Interval interval{};
  /// The operation; none for a wait of unknown cause.
  std::optional<std::uint32_t> operation{};
};

/// The chain of operations that determines the step time, from start to end without gap or overlap:
/// each operation, preceded by what it waited for last. It moves between ranks at the end of a
/// communication whose other participant arrived last. Operations without duration are omitted.
[[nodiscard]] std::vector<PathSegment> critical_path(const Peers& peers);

/// Total length of a path by use.
struct PathShare {
  TimeUse use{};
  Duration length;
  double operations = 0;  // an integer, unless it is a mean over steps
};
/// Longest first; lengths sum up to the path's.
[[nodiscard]] std::vector<PathShare> shares(const std::vector<PathSegment>& path);

/// Total length of a path in one operation of a role, or waiting for its launch.
struct PathOperation {
  std::size_t rank = 0;         // the first of the role on the path
  std::uint32_t operation = 0;  // the first instance on the path
  TimeUse::Kind kind = TimeUse::Kind::computation;
  Duration length;
  std::int64_t instances = 0;
};
/// Waits excluded, in the order of routines; instances of different layers and microbatches count
/// as one operation.
[[nodiscard]] std::vector<PathOperation> operations(const std::vector<PathSegment>& path,
                                                    const TrainingStepTimeline& timeline);

/// A leg of the path: one rank computing, one group communicating, or a wait.
struct PathLeg {
  std::size_t rank = 0;
  TimeUse use{};  // of mixed computation: the largest class
  Interval interval{};
  double operations = 0;
};
/// Adjacent segments of the same rank and kind merged, in order.
[[nodiscard]] std::vector<PathLeg> legs(const std::vector<PathSegment>& path);

}  // namespace lockstep
