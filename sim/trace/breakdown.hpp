#pragma once

#include <array>
#include <map>
#include <string>
#include <vector>

#include "sim/trace/peers.hpp"
#include "sim/trace/time_use.hpp"

/// Complete breakdown of a rank's step time.
namespace lockstep {

inline constexpr std::size_t kPurposes = static_cast<std::size_t>(Purpose::communication) + 1;

/// The step of one rank from the perspective of its compute stream. Every picosecond is counted
/// once: total() equals `step`.
/// Time during an operation of the compute stream belongs to that operation. Idle time belongs to
/// what the next operation waits for, followed back through its predecessors to the start of the
/// idle interval. Communication is exposed from the arrival of its last participant; before that it
/// is a wait, or a bubble if that participant is another pipeline stage. So is the time after the
/// rank's last operation.
struct Breakdown {
  std::size_t rank = 0;  // index into TrainingStepTimeline::ranks
  Duration step;
  std::array<Duration, kOperationClasses> computation{};  // by OperationClass
  std::array<Duration, kPurposes> purpose{};              // the same computation, by Purpose
  std::map<std::string, Duration> exposed{};              // communication, by group
  Duration bubble;
  /// The part of the bubble due to the schedule's fill and drain: before the rank's first backward
  /// operation and after its last forward operation, except between forward operations, or between
  /// backward operations, of a schedule that separates them. The rest is waiting for slower stages.
  Duration fill_drain;
  /// The device waits for its host to launch the next operation: from the start of the step, or
  /// from the end of what the host waited for last.
  Duration issue;
  Duration waiting;
  /// The ideal time of the rank's microbatches, without idling: computation, exposed communication
  /// and launches of forward and backward passes and of messages between stages. Excludes the
  /// optimizer and gradient reduction.
  Duration of_microbatches;

  [[nodiscard]] Duration computation_total() const;
  [[nodiscard]] Duration exposed_total() const;
  [[nodiscard]] Duration total() const;
  /// Time spent computing, communicating and launching: the step without bubble and waiting.
  [[nodiscard]] Duration busy() const { return step - bubble - waiting; }
};
[[nodiscard]] Breakdown breakdown(const Peers& peers, std::size_t rank);

/// Bubble over the ideal time of the rank's microbatches: for equal stages (p-1)/m with 1F1B and
/// GPipe, (p-1)/(v m) interleaved (Narayanan et al. 2021, arXiv 2104.04473, section 2.2). 0 for a
/// rank without microbatches.
[[nodiscard]] double bubble_fraction(const Breakdown& rank);

/// Communication of a rank in one group, hidden or exposed.
struct GroupTraffic {
  std::string group;
  double operations = 0;  // an integer, unless it is a mean over steps
  Duration transfer;      // summed over operations, from the arrival of the last participant
  Duration waiting;       // summed over operations, until then; a receive waits from its posting
  Duration exposed;       // as in Breakdown
  /// Summed message sizes: of a collective the larger of input and output, of sends, receives and
  /// host copies what is transferred.
  Bytes bytes;
};
/// By group name.
[[nodiscard]] std::vector<GroupTraffic> traffic_by_group(const Peers& peers,
                                                         const Breakdown& breakdown);
/// Message size of a communication on one rank.
[[nodiscard]] Bytes message_bytes(const RoleProgram& role, std::uint32_t operation);

}  // namespace lockstep
