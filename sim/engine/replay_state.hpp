#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sim/engine/replay.hpp"
#include "sim/network/event_queue.hpp"
#include "sim/network/transport.hpp"

namespace lockstep {
class StepEndsLog;
}

/// What the parts of an engine share.
namespace lockstep::engine {

inline constexpr std::uint32_t kNone = UINT32_MAX;

/// A track is a sequence of steps on a rank: a lane of a collective, by its index, or a stream, by
/// its index plus kStream. It does one step at a time and continues when all transfers of the step
/// are complete.
using Track = std::uint32_t;
inline constexpr Track kStream = 1U << 31U;
[[nodiscard]] constexpr bool is_lane(Track track) {
  return track < kStream;
}

/// Kinds of events in addition to those of transports; in brackets: what the event's id is.
enum class EventKind : std::uint8_t {
  done = kEngineEvents,  // [track] a piece of local work
  taken,                 // [transfer] its receiver has reduced it out of its slot
  computed,              // [stream] the end of a run may have come
  begins,                // [party] a member with a start time
  met,                   // [call] of known duration: it ends
  issued,                // [stream] its next operation has been launched
  external,              // [entry] from the part that others replay
  resumes,               // [cell] of RecordedWork: the record that it follows is at its end
  changes_speed,         // [change] of Workload::speed_changes
  held_ends,             // [call] of HeldCalls: members end
  held_begins,           // [party] of such a call that is replayed: a member began
};
static_assert(static_cast<std::uint32_t>(EventKind::held_begins) < 16, "as Event::kind");

/// Clock, input and the tracks that can continue. Copyable.
struct ReplayState {
  ReplayState(const Network& of, const Workload& what, NetworkModel how)
      : network{&of},
        workload{&what},
        model{how},
        issue_in_order{
            how == NetworkModel::queue ||
            std::any_of(of.endpoints.begin(), of.endpoints.end(),
                        [](const Endpoint& e) { return e.message_overhead > Duration{}; })},
        by_track{how != NetworkModel::queue} {}

  const Network* network;
  const Workload* workload;
  NetworkModel model;
  /// Senders or queues issue messages one by one: those matched in the same instant leave in the
  /// order of issue by their senders, not of matching; those of a rank in the order of its tracks
  /// (by_track), except in queues, which are shared by ranks.
  bool issue_in_order;
  bool by_track;
  EventQueue queue;
  std::vector<Track> ready;          // tracks whose step is complete
  std::uint64_t instant = 0;         // its number; each of its rounds has one
  std::uint64_t next_order = 0;      // of a send among all sends
  TimePoint end;                     // of the last operation or collective
  StepEndsLog* step_ends = nullptr;  // by lane of the workload; null: not logged

  [[nodiscard]] TimePoint now() const { return queue.now(); }
};

}  // namespace lockstep::engine
