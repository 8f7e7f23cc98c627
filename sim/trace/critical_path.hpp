#pragma once

#include <vector>

#include "sim/trace/peers.hpp"
#include "sim/trace/time_use.hpp"

/// What the length of a step hangs on.
namespace lockstep {

/// A stretch of the critical path on one rank.
struct PathSegment {
  std::size_t rank = 0;  // index into TrainingStepTimeline::ranks
  TimeUse use{};
  Interval interval{};
  /// The operation; none of a wait whose reason is not known.
  std::optional<std::uint32_t> operation{};
};

/// The chain of operations that ends with the last of all, each with what it waited for, from the
/// step's start to its end without gap or overlap. It passes from rank to rank at the end of a
/// communication that came last. Zero-length operations are left out.
[[nodiscard]] std::vector<PathSegment> critical_path(const Peers& peers);

/// How much of a path goes to one use.
struct PathShare {
  TimeUse use{};
  Duration length;
  double operations = 0;  // whole, but where it is a mean over steps
};
/// Longest first; their lengths sum up to the path's.
[[nodiscard]] std::vector<PathShare> shares(const std::vector<PathSegment>& path);

/// A leg of the path: one rank that computes, one group that communicates, or a wait.
struct PathLeg {
  std::size_t rank = 0;
  TimeUse use{};  // of computation of several classes: that which takes the most
  Interval interval{};
  double operations = 0;
};
/// Neighbouring segments of the same rank and kind put together, in their order.
[[nodiscard]] std::vector<PathLeg> legs(const std::vector<PathSegment>& path);

}  // namespace lockstep
