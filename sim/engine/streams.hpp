#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "sim/engine/periodic_replay.hpp"
#include "sim/engine/replay_state.hpp"
#include "sim/schedule/stream_ends.hpp"

namespace lockstep::engine {

class Collectives;
class RecordedWork;
class ReusedCalls;
class Transfers;

struct StreamState {
  std::uint32_t index = 0;
  std::uint32_t first_list = 0;    // of dependents of its first operation
  std::uint32_t first_stream = 0;  // to which those lists are relative
  bool busy = false;
  // Of a stream that computes: its run, operations from `index` to before `ahead`, of which only
  // the last can concern others. Their ends are known unless communication slows them down.
  bool computing = false;
  bool slows = false;  // computes outside a processor
  std::uint32_t ahead = 0;
  TimePoint began;   // start of operation `index`
  TimePoint until;   // predicted end of the run
  TimePoint looks;   // next event about it: may be before `until`
  Duration earlier;  // by so much it is launched earlier than its operations say
};

/// What the engine asks of a stream of the workload, in one place.
struct StreamProgram {
  explicit StreamProgram(const Stream& of)
      : operations{of.all().data()},
        calls{of.pattern ? of.calls.data() : nullptr},
        messages{of.pattern ? of.messages.data() : nullptr},
        size{static_cast<std::uint32_t>(of.all().size())},
        endpoint{of.endpoint} {}

  const Activity* operations;
  const CallMemberSlot* calls;    // of a pattern; null: operations name theirs
  const Correspondent* messages;  // likewise
  std::uint32_t size;
  EndpointId endpoint;

  [[nodiscard]] CallMemberSlot member_slot(const Activity& collective) const {
    return calls != nullptr ? calls[collective.call]
                            : CallMemberSlot{collective.call, collective.member};
  }
  [[nodiscard]] Correspondent end(const Activity& message) const {
    return messages != nullptr ? messages[message.peer] : Correspondent{message.peer, message.tag};
  }
};

/// The pace of an endpoint's computation: its time is `permille` thousandths of the normal time at
/// `ppm` millionths of the normal speed.
struct Pace {
  std::int64_t permille = 1000;
  std::int64_t ppm = SpeedChange::kNormal;
  friend bool operator==(const Pace&, const Pace&) = default;
};

/// The highest of what slows computation down, in thousandths of its time; 1000: nothing does.
[[nodiscard]] std::int64_t slowest(const std::vector<std::int64_t>& permilles);

/// Streams: operation after operation, each when what it waits for is done. Copyable.
class Streams {
 public:
  explicit Streams(const ReplayState& state);
  struct Siblings {
    ReplayState& state;
    Transfers& transfers;
    Collectives& collectives;
    ReusedCalls* reused;     // null: none are
    RecordedWork* recorded;  // null: none is
  };
  /// Required before use, and after a copy.
  void join(const Siblings& siblings);
  /// Reports to the collectives who calls them.
  void announce_calls();
  /// Puts changes of speed on the queue; those at the start hold at once.
  void announce_speed_changes();

  /// Begins the stream's next operation if nothing holds it back.
  void run(std::uint32_t stream);
  void finish_operation(std::uint32_t stream);
  /// The predicted end of the stream's run may have come.
  void end_run(std::uint32_t stream);
  /// A call during which computation takes `permille` of its time begins or ends on a stream's
  /// endpoint.
  void communicates(std::uint32_t stream, std::int64_t permille, bool begins);
  /// A change of Workload::speed_changes takes effect.
  void change_speed_of_endpoint(std::uint32_t change);
  /// At the end of an instant: what is left of computation in flight takes longer from the first
  /// collective on, and less long from the end of the last; likewise at another speed.
  void change_speeds();
  /// Launches from the start of the streams, not from the end of an operation, are earlier from now
  /// on: by what the host gains on the device in that many periods.
  void launch_earlier(const std::vector<RepeatingPart>& parts, Duration period,
                      std::int64_t periods);

  // For RecordedWork.
  /// Whether the stream's next operation waits for others.
  [[nodiscard]] bool waits(std::uint32_t stream) const {
    return waits_at(stream, streams_[stream].index);
  }
  /// Whether the stream follows a record, so that its state is of an earlier time.
  [[nodiscard]] bool follows(std::uint32_t stream) const;
  /// Whether its endpoint stands for others, which call the same collectives.
  [[nodiscard]] bool leads(std::uint32_t stream) const;
  /// Of one in a call that ends: the stream that ends it for all members. kNone: each ends it.
  [[nodiscard]] std::uint32_t ends_for_all(std::uint32_t stream) const;
  /// The call that the stream has come to is replayed. kNone: there is no such stream.
  void replays(std::uint32_t stream) const;
  /// Puts it in its state of this instant.
  void catch_up(std::uint32_t stream) const;
  /// Asks for what end_as() and set_state() read, of many streams before the first of them waits
  /// for it: first where it is, then what is there.
  void fetch(std::uint32_t stream) const;
  void fetch_ends(std::uint32_t stream) const;
  /// The same for what finish_operation() and run() read: after fetch(), what comes next and where
  /// its end is put; then whom that concerns.
  void fetch_next(std::uint32_t stream) const;
  void fetch_others(std::uint32_t stream) const;
  /// The operations up to before `index`, at least one, have ended, each `as` that of a stream.
  /// None of them concerns streams with events of their own.
  void end_as(std::uint32_t stream, std::uint32_t index, const StreamEnds::Shift& as);
  /// The place of `like`, and the operations in flight with their ends, `later`.
  void set_state(std::uint32_t stream, const StreamState& like, std::span<const TimePoint> ends,
                 Duration later);
  /// Whether a stream but these computes at the endpoint, and communication slows it down.
  [[nodiscard]] bool computes_at(EndpointId at, const std::vector<std::uint32_t>& but) const;
  /// What slows computation down at an endpoint since the last instant, one number for each
  /// collective in flight, in thousandths.
  void set_slowing(EndpointId at, std::vector<std::int64_t> permilles);
  /// What an endpoint computes is as much slower as at the other until the end of this instant.
  void keep_slowed(EndpointId at, EndpointId like);
  /// Requires !slowed().empty().
  [[nodiscard]] const std::vector<std::int64_t>& slowing(EndpointId at) const {
    return slowing_[at];
  }

  [[nodiscard]] std::size_t size() const { return streams_.size(); }
  [[nodiscard]] const StreamState& operator[](std::size_t stream) const { return streams_[stream]; }
  [[nodiscard]] const StreamProgram& program(std::size_t stream) const { return programs_[stream]; }
  [[nodiscard]] EndpointId endpoint_of(std::uint32_t stream) const {
    return programs_[stream].endpoint;
  }
  [[nodiscard]] TrafficWeight traffic_weight(std::uint32_t stream) const {
    return programs_[stream].operations[streams_[stream].index].traffic_weight;
  }
  /// The first operation that may not have begun.
  [[nodiscard]] std::uint32_t not_begun(std::uint32_t stream) const;
  /// Of operations that have ended, and of the run in flight.
  [[nodiscard]] StreamEnds& ends() { return ends_; }
  [[nodiscard]] const StreamEnds& ends() const { return ends_; }
  /// The last launch that something had to wait for.
  [[nodiscard]] TimePoint late_launch() const { return late_launch_; }
  /// Per endpoint, time of computation in thousandths; empty where nothing slows it down.
  [[nodiscard]] const std::vector<std::int64_t>& slowed() const { return slowed_; }

 private:
  void add_dependencies();
  [[nodiscard]] std::vector<std::uint32_t> place_lists();
  [[nodiscard]] std::uint32_t list_of(ActivityRef ref, const Stream& waiting) const;

  /// The first operation after those in flight; its number may be that of the end.
  [[nodiscard]] std::uint32_t next_of(std::uint32_t stream) const {
    const StreamState& state = streams_[stream];
    return state.computing ? state.ahead : state.index + (state.busy ? 1U : 0U);
  }
  [[nodiscard]] bool waits_at(std::uint32_t stream, std::uint32_t index) const;
  [[nodiscard]] TimePoint issued_at(std::uint32_t stream, std::uint32_t index) const;
  void begin_operation(std::uint32_t stream);
  void change_pace(std::uint32_t stream, const Pace& before, const Pace& after);
  [[nodiscard]] Pace pace(EndpointId at) const;
  [[nodiscard]] bool may_be_recorded(std::uint32_t stream, const Activity& operation) const;
  void touch(std::uint32_t stream);
  void begin_computing(std::uint32_t stream, const Activity& operation);
  [[nodiscard]] Duration time_of(std::uint32_t stream, std::uint32_t index) const;
  [[nodiscard]] TimePoint start_of(std::uint32_t stream, std::uint32_t index);
  void time_run(std::uint32_t stream, std::uint32_t index, TimePoint end);
  void end_record_if_due();
  void look_at_end(std::uint32_t stream);
  [[nodiscard]] TimePoint on_processor(EndpointId at, const Activity& operation);

  const Workload* workload_;
  ReplayState* state_ = nullptr;
  Transfers* transfers_ = nullptr;
  Collectives* collectives_ = nullptr;
  ReusedCalls* reused_ = nullptr;
  RecordedWork* recorded_ = nullptr;

  struct alignas(64) OwnLine : StreamState {};  // of a cache
  std::vector<OwnLine> streams_;
  std::vector<StreamProgram> programs_;  // per stream; of the workload
  bool runs_ahead_;                      // the order of events in an instant decides nothing
  // Dependents of each operation; stored once for streams with the same pattern.
  std::vector<ActivityRef> dependents_;
  std::vector<std::uint32_t> first_dependent_;  // per list, plus the end of the last
  StreamEnds ends_;
  TimePoint late_launch_;
  std::uint32_t ends_record_of_ = kNone;  // it has begun a run that is no part of a record

  std::unordered_map<std::uint64_t, TimePoint> processor_free_;  // by endpoint and processor
  // Per endpoint, ascending: streams that compute on no processor; empty where nothing slows.
  std::vector<std::vector<std::uint32_t>> computing_at_;
  std::vector<std::vector<std::int64_t>> slowing_;  // per endpoint: of the collectives in flight
  std::vector<std::int64_t> slowed_;    // per endpoint, in thousandths, before this instant
  std::vector<std::int64_t> speed_;     // per endpoint, in millionths; empty: none changes
  std::vector<std::int64_t> in_force_;  // the same, before this instant
  std::vector<EndpointId> changed_;     // in this instant, perhaps
};

}  // namespace lockstep::engine
