#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/network/network.hpp"
#include "sim/schedule/schedule.hpp"

/// What the engine replays: per end point, streams of operations that run in order within a stream
/// and side by side across streams, and collectives that all members take part in. Plain data.
namespace lockstep {

/// One collective over a group of end points, once: a collective that happens again is another
/// call. But one with a single member (a class of ranks that talk to each other, say) happens as
/// often as its stream names it.
struct CollectiveCall {
  std::string name;  // for messages, such as "all_reduce ring"
  std::shared_ptr<const Schedule> schedule;
  std::vector<EndpointId> members;  // member i plays rank i of the schedule
  Bytes block{};                    // length of one of the schedule's blocks
  /// When each member begins, unless a stream's operation says so; empty: all at the start.
  std::vector<TimePoint> starts{};
  /// Instead of a schedule: all members are done so long after the last of them has begun.
  std::optional<Duration> takes{};
};

/// Names an operation: stream and position in it, as indices into the workload.
struct ActivityRef {
  std::uint32_t stream = 0;
  std::uint32_t index = 0;
};

struct Activity {
  static constexpr std::uint32_t kOwnProcessor = UINT32_MAX;
  enum class Kind : std::uint8_t { compute, send, receive, collective };
  Kind kind = Kind::compute;
  Duration duration;      // compute
  EndpointId peer = 0;    // send, receive
  std::uint32_t tag = 0;  // send, receive: matched first to first per (from, to, tag)
  Bytes size;             // send, receive; both ends must agree
  /// compute: operations of one end point with the same processor run one at a time, first ready
  /// first; kOwnProcessor: whenever the stream gets there.
  std::uint32_t processor = kOwnProcessor;
  std::uint32_t call = 0;            // collective: index into Workload::calls
  std::uint32_t member = 0;          // collective: which member this stream is
  std::vector<ActivityRef> after{};  // operations of other streams that must be done first
  TimePoint not_before{};            // when whoever issues it has done so
  /// If there is one: `not_before` counts from the end of this operation, which must be done
  /// first anyway.
  std::optional<ActivityRef> launched_after{};
};

/// A member of a call.
struct CallMemberSlot {
  std::uint32_t call = 0;
  std::uint32_t member = 0;
};

/// Where a message goes to or comes from.
struct Correspondent {
  EndpointId peer = 0;
  std::uint32_t tag = 0;
};

struct Stream {
  EndpointId endpoint = 0;
  std::string name;  // for messages, such as "compute"
  std::vector<Activity> operations;

  /// Instead of operations of its own, those of a pattern that many streams follow: there `call`
  /// and `peer` are indices into what comes next, and `after` counts streams from `first_stream`.
  std::shared_ptr<const std::vector<Activity>> pattern{};
  std::vector<CallMemberSlot> calls{};
  std::vector<Correspondent> messages{};
  std::uint32_t first_stream = 0;

  [[nodiscard]] const std::vector<Activity>& all() const { return pattern ? *pattern : operations; }
  [[nodiscard]] CallMemberSlot member_slot(const Activity& collective) const {
    return pattern ? calls[collective.call] : CallMemberSlot{collective.call, collective.member};
  }
  [[nodiscard]] Correspondent end(const Activity& message) const {
    return pattern ? messages[message.peer] : Correspondent{message.peer, message.tag};
  }
  [[nodiscard]] ActivityRef named(ActivityRef after) const {
    return {first_stream + after.stream, after.index};
  }
};

struct Workload {
  std::vector<CollectiveCall> calls;
  std::vector<Stream> streams;
  /// Of every (from, to, tag) that streams send on, with the meaning of Schedule::slots(): 0 holds
  /// a sender until its message has arrived, kNoLimit never makes it wait.
  int slots = 0;
  static constexpr int kNoLimit = INT32_MAX;
  /// While an end point takes part in collectives that its streams have called, its computation
  /// (but for what runs on a processor) takes so many thousandths of its time; at least 1000.
  std::int64_t slowed_permille = 1000;
  bool logs_transfers = false;  // ReplayResult::log
};

}  // namespace lockstep
