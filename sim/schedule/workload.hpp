#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "sim/base/short_list.hpp"
#include "sim/base/units.hpp"
#include "sim/network/network.hpp"
#include "sim/schedule/schedule.hpp"

/// Input of the engine: streams of operations per endpoint, sequential within a stream and
/// concurrent across streams, and collectives among all their members. Plain data.
namespace lockstep {

/// A collective on a group of endpoints, executed as often as streams name it. Its members come to
/// it again after all have ended it: of a call with a single member (such as a class of ranks that
/// communicate with each other) at any time; of one in which no member ends before all have begun,
/// if two such calls take turns.
struct CollectiveCall {
  std::string name;  // for messages, such as "all_reduce ring"
  std::shared_ptr<const Schedule> schedule;
  std::vector<EndpointId> members;  // member i executes rank i of the schedule
  Bytes block{};                    // size of one of the schedule's blocks
  /// Start time per member, unless a stream's operation starts it; empty: all at time 0.
  std::vector<TimePoint> starts{};
  /// Instead of a schedule: the time from the last member's start to the end of all.
  std::optional<Duration> takes{};
  /// Of its transfers on links that others use at the same time.
  TrafficWeight traffic_weight = 1;
  /// Time of a member's computation meanwhile, instead of Workload::slowed_permille; 1000: that.
  std::int64_t slowed_permille = 1000;
  /// Executed by the GPUs' copy engines: computation meanwhile is as fast as it is without.
  bool on_copy_engines = false;
};

/// Identifies an operation: stream and index in it.
struct ActivityRef {
  std::uint32_t stream = 0;
  std::uint32_t index = 0;
};

struct Activity {
  static constexpr std::uint32_t kOwnProcessor = UINT32_MAX;
  enum class Kind : std::uint8_t { compute, send, receive, collective };
  Kind kind = Kind::compute;
  bool any_speed = false;            // compute: as long at any speed of its endpoint
  Duration duration;                 // compute
  EndpointId peer = 0;               // send, receive
  std::uint32_t tag = 0;             // send, receive: matched in order per (from, to, tag)
  Bytes size;                        // send, receive; equal at both ends
  TrafficWeight traffic_weight = 1;  // send
  /// compute: operations of one endpoint on the same processor run one at a time in order of
  /// readiness; kOwnProcessor: independent of others.
  std::uint32_t processor = kOwnProcessor;
  std::uint32_t call = 0;             // collective: index into Workload::calls
  std::uint32_t member = 0;           // collective: the member this stream represents
  ShortList<ActivityRef, 2> after{};  // operations of other streams that must be done
  TimePoint not_before{};             // launch time
  /// If present, `not_before` is relative to the end of this operation, on which it must depend
  /// anyway.
  std::optional<ActivityRef> launched_after{};
};

/// A member of a call.
struct CallMemberSlot {
  std::uint32_t call = 0;
  std::uint32_t member = 0;
};

/// The other end of a message.
struct Correspondent {
  EndpointId peer = 0;
  std::uint32_t tag = 0;
};

struct Stream {
  EndpointId endpoint = 0;
  std::string name;  // for messages, such as "compute"
  std::vector<Activity> operations;

  /// A pattern shared by many streams, instead of own operations: its `call` and `peer` are indices
  /// into the following lists, and `after` counts streams from `first_stream`.
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

/// From an instant on, an endpoint computes at another speed (except on a processor).
struct SpeedChange {
  static constexpr std::int64_t kNormal = 1'000'000;
  EndpointId endpoint = 0;
  TimePoint at;
  std::int64_t ppm = kNormal;  // millionths of its normal speed: 1 to kNormal
};

struct Workload {
  std::vector<CollectiveCall> calls;
  std::vector<Stream> streams;
  std::vector<SpeedChange> speed_changes{};  // of each endpoint, ascending in time
  /// Slots of every (from, to, tag) of streams, as Schedule::slots(): 0 blocks a sender until
  /// arrival, kNoLimit never blocks.
  int slots = 0;
  static constexpr int kNoLimit = INT32_MAX;
  /// Time of an endpoint's computation while it takes part in collectives called by its streams, in
  /// thousandths of the normal time (except on a processor); at least 1000.
  std::int64_t slowed_permille = 1000;
  bool logs_transfers = false;  // ReplayResult::log

  /// Time of a member's computation during a call, in thousandths of the normal time.
  [[nodiscard]] std::int64_t permille_during(const CollectiveCall& call) const {
    if (call.on_copy_engines) return 1000;
    return call.slowed_permille > 1000 ? call.slowed_permille : slowed_permille;
  }

  /// Whether some computation is not on a processor of its own.
  [[nodiscard]] bool shares_processors() const {
    std::unordered_set<const void*> patterns;  // looked at
    return std::any_of(streams.begin(), streams.end(), [&](const Stream& stream) {
      if (stream.pattern && !patterns.insert(stream.pattern.get()).second) return false;
      return std::any_of(stream.all().begin(), stream.all().end(), [](const Activity& of) {
        return of.kind == Activity::Kind::compute && of.processor != Activity::kOwnProcessor;
      });
    });
  }
};

}  // namespace lockstep
