#pragma once

#include <array>
#include <map>
#include <string>
#include <vector>

#include "sim/trace/peers.hpp"
#include "sim/trace/time_use.hpp"

/// Where a rank's step goes, without remainder.
namespace lockstep {

inline constexpr std::size_t kPurposes = static_cast<std::size_t>(Purpose::communication) + 1;

/// The step of one rank, seen from its compute stream. Every picosecond counts once: total() is
/// exactly `step`.
///
/// While an operation of the compute stream runs, the time is that operation's. While the stream is
/// idle, the time is that of what its next operation waits for: of the operation before that one,
/// then of the one before that, back to where the stream fell idle. Communication counts as exposed
/// from when all its ends have come; until then it is a wait, a bubble where the end that came last
/// is another pipeline stage. So is what follows the rank's last operation while others still work.
struct Breakdown {
  std::size_t rank = 0;  // index into TrainingStepTimeline::ranks
  Duration step;
  std::array<Duration, kOperationClasses> computation{};  // by OperationClass
  std::array<Duration, kPurposes> purpose{};              // the same computation, by Purpose
  std::map<std::string, Duration> exposed{};              // communication, by group
  Duration bubble;
  /// Of the bubble what the schedule's fill and drain take: before the rank's first backward
  /// operation and after its last forward operation, except between the forward operations, or
  /// between the backward operations, of a schedule that separates the two. The remainder of the
  /// bubble is waiting for slower stages.
  Duration fill_drain;
  /// The device waits while its host launches the next operation: from the start of the step, or
  /// from the end of what the host waited for last.
  Duration issue;
  Duration waiting;
  /// Of the above what the rank's microbatches take without any idling: computation, exposed
  /// communication and launches of their forward and backward passes and of the messages between
  /// stages. Not the update of weights, nor what sums gradients once a step.
  Duration of_microbatches;

  [[nodiscard]] Duration computation_total() const;
  [[nodiscard]] Duration exposed_total() const;
  [[nodiscard]] Duration total() const;
  /// What the rank computes, communicates and launches: the step without bubble and waiting.
  [[nodiscard]] Duration busy() const { return step - bubble - waiting; }
};
[[nodiscard]] Breakdown breakdown(const Peers& peers, std::size_t rank);

/// The bubble over the ideal time, which is what the rank's microbatches take without any: of equal
/// stages (p-1)/m with 1F1B and GPipe, (p-1)/(v m) interleaved (Narayanan et al. 2021, arXiv
/// 2104.04473, section 2.2). 0 of a rank that has no microbatches.
[[nodiscard]] double bubble_fraction(const Breakdown& rank);

/// All communication of a rank in one group, hidden behind computation or not.
struct GroupTraffic {
  std::string group;
  double operations = 0;  // whole, but where it is a mean over steps
  Duration transfer;      // sum over the operations, from when all ends had come
  Duration waiting;  // sum over the operations, until then; a receive waits from its posting on
  Duration exposed;  // as in Breakdown
  /// Sum over the messages: of a collective the whole message (the larger of what is read and
  /// written), of a send, receive or host copy what is passed.
  Bytes bytes;
};
/// By name of the group.
[[nodiscard]] std::vector<GroupTraffic> traffic_by_group(const Peers& peers,
                                                         const Breakdown& breakdown);
/// Bytes of the message of a communication on one rank.
[[nodiscard]] Bytes message_bytes(const RoleProgram& role, std::uint32_t operation);

}  // namespace lockstep
