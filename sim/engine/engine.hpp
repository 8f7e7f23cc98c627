#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "sim/engine/backlog.hpp"
#include "sim/engine/connections.hpp"
#include "sim/engine/frontier.hpp"
#include "sim/engine/known_calls.hpp"
#include "sim/engine/matcher.hpp"
#include "sim/engine/periodic_replay.hpp"
#include "sim/engine/replay.hpp"
#include "sim/network/event_queue.hpp"
#include "sim/network/route_cache.hpp"
#include "sim/network/transport.hpp"
#include "sim/schedule/workload.hpp"

namespace lockstep {

/// Replays a workload on a network. A *track* is a sequence of steps on a rank: a lane of a
/// collective, or a stream. It does one step at a time and continues when all transfers of the step
/// are complete. State holds indices only, so an Engine can be copied, and copies continue
/// independently. Memory follows the operations of the streams and the collectives in flight: lanes
/// exist from the start of a collective's first member to the end of its last.
class Engine {
 public:
  /// The network and the workload must outlive the engine and all its copies. `reuses`: isolated
  /// calls of equal shape are replayed once (can_reuse()).
  Engine(const Network& network, const Workload& workload, NetworkModel model, bool reuses = false);
  /// Replays one call without slots, except for the channels that `external` carries, which must
  /// outlive the engine.
  Engine(const Network& network, const Workload& workload, NetworkModel model,
         ExternalTransport& external);
  /// Replays one call without slots, except for `member`, which never begins here: `external`
  /// replays it and must outlive the engine.
  Engine(const Network& network, const Workload& workload, NetworkModel model,
         ExternalMember& external, std::uint32_t member);
  Engine(const Engine& other);
  /// A copy with its own external member.
  Engine(const Engine& other, ExternalMember& external) : Engine{other} {
    external_member_ = &external;
  }
  Engine& operator=(const Engine&) = delete;
  ~Engine() = default;

  /// Handles all events of the next instant. False if none is left.
  bool advance();
  void advance_to_end(const OnReplay& report);
  /// Until two instants a period apart are in the same state: the time between them. None if a
  /// stream leaves its repeating part before.
  [[nodiscard]] std::optional<Duration> advance_to_period(const std::vector<RepeatingPart>& parts);
  /// Launches from the start of the streams, not from the end of an operation, are earlier from now
  /// on: by what the host gains on the device in that many periods.
  void launch_earlier(const std::vector<RepeatingPart>& parts, Duration period,
                      std::int64_t periods);
  /// Without streams, of `transfers`, as transfers_of_calls() counts them.
  [[nodiscard]] ReplayProgress progress(std::uint64_t transfers) const;
  /// Walks the schedules, repeated steps once.
  [[nodiscard]] std::uint64_t transfers_of_calls() const;
  [[nodiscard]] TimePoint now() const { return queue_.now(); }
  /// Time of the next event; empty if none is left.
  [[nodiscard]] std::optional<TimePoint> next() const { return queue_.next(); }
  /// The external member reaches, at `at` >= now(), one end of a transfer over `channel` with
  /// `member`. Post::track is ignored; Post::place is passed to ExternalMember::begun() and done().
  void post_at(TimePoint at, std::uint32_t member, std::uint32_t channel, const Post& post);
  /// The transfer that was passed to ExternalTransport::take() as `post` ends at `at` >= now().
  void finish_at(TimePoint at, const Post& post);
  /// Whether the member of the first call has completed all its steps.
  [[nodiscard]] bool has_ended(std::uint32_t member) const {
    return members_[member].lanes_left == 0;
  }
  /// The result so far; complete once advance() has returned false.
  [[nodiscard]] ReplayResult result() const;
  /// The same, moved out; the engine must not be used afterwards.
  [[nodiscard]] ReplayResult take_result();

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;
  enum class Kind : std::uint8_t {
    done = kEngineEvents,
    taken,
    computed,
    begins,
    met,
    issued,
    external
  };

  /// One lane of a collective on one member.
  struct Lane {
    std::int64_t step = 0;
    std::int64_t steps = 0;
    std::uint32_t call = 0;
    std::uint32_t member = 0;
    std::uint32_t lane = 0;
    EndpointId endpoint = 0;
    std::uint32_t outstanding = 0;  // transfers and local work of this step in flight
    std::int64_t to_reduce = 0;     // bytes of local work after the transfers
    std::int64_t to_copy = 0;
    std::int64_t repeats_left = 0;  // following steps with the same pattern
    std::uint32_t pattern = 0;      // number of transfers per step of that pattern
    TransferId first_sent = kNone;  // list of transfers that every repetition reuses
    TransferId first_received = kNone;
    std::uint32_t bound = 0;   // number of these
    TransferId holds = kNone;  // its slot is released when this step ends
    TransferId took = kNone;   // its slot is released by the next step
    bool begun = false;
    bool blocked = false;  // waits for a step of another lane
  };
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
  struct CallState {
    std::uint32_t first_lane = kNone;  // lane l of member m is first_lane + m * lanes + l
    std::uint32_t first_party = 0;     // party of member m in matching: first_party + m
    std::uint32_t lanes = 1;
    std::uint32_t members_left = 0;  // not ended
    // Members that have not begun, if the call has a fixed duration; else the members offered.
    std::uint32_t awaited = 0;
    // Has members that no stream calls: they begin with the first member that one calls.
    bool has_followers = false;
    std::uint64_t order = 0;    // of its first lane among all lanes of the workload
    std::vector<Phase> phases;  // while in flight
    TimePoint until;            // of a known duration: its end
  };
  /// One member of one call.
  struct MemberState {
    std::uint32_t stream = kNone;  // the caller
    std::uint32_t lanes_left = 0;
  };
  /// A transfer between two tracks. If both ends repeat it, it is bound: it is kept, and the ends
  /// mark that they have reached it again without being matched again.
  struct Transfer {
    static constexpr std::uint8_t kSender = 1;
    static constexpr std::uint8_t kReceiver = 2;
    std::uint32_t sender = 0;  // tracks
    std::uint32_t receiver = 0;
    std::int64_t bytes = 0;
    std::int64_t reduced = 0;  // at the receiver, over all messages it stands for
    std::int64_t times = 1;
    EndpointId from = 0;
    EndpointId to = 0;
    std::uint32_t channel = 0;
    std::uint32_t kept = 0;        // the transport's handle
    std::uint32_t send_place = 0;  // index among the sends of the sender's step
    std::uint32_t receive_place = 0;
    TransferId next_sent = kNone;  // bound: the sender's next by index
    TransferId next_received = kNone;
    std::uint64_t order = 0;    // of the send among all sends
    std::uint64_t instant = 0;  // when it was posted
    bool reduces = false;
    bool bound = false;
    bool eager = false;          // of a connection with slots
    bool arrived = false;        // eager: not received yet
    bool forwarded = false;      // eager: holds its slot until it is forwarded
    ConnectionKey connection{};  // eager
    std::uint8_t posted = 0;     // bits of the ends that have reached a bound transfer again
    TimePoint start{};           // earliest start
  };
  /// Local work found in this instant. Work of one endpoint is done in the order of its tracks,
  /// whatever the order of finding.
  struct Piece {
    std::uint32_t track = 0;
    bool copies = false;
    std::int64_t bytes = 0;
    Kind announces = Kind::done;
    std::uint32_t id = 0;     // of the event pushed when it is done
    std::uint64_t order = 0;  // of the track
  };
  struct PortState {
    TimePoint send_free;  // when the sender's software can issue the next message
    Backlog reductions;
    Backlog copies;
  };
  /// A post of the external member, or the end of an external transfer.
  struct FromExternal {
    Post post;  // the external member's, or the completed one
    ConnectionKey key{};
    bool finished = false;
  };
  /// Parts of the call that others replay.
  struct LeftOut {
    ExternalTransport* transport = nullptr;
    ExternalMember* external = nullptr;
    std::uint32_t member = UINT32_MAX;  // replayed by `external`
  };
  Engine(const Network& network, const Workload& workload, NetworkModel model, bool reuses,
         const LeftOut& left);

  // Set-up.
  void add_call(const CollectiveCall& call);
  void add_streams();
  void add_dependencies();
  [[nodiscard]] std::vector<std::uint32_t> place_lists();
  void add_callers();
  void begin_free_calls();
  [[nodiscard]] bool follows(std::uint32_t call);
  void find_shared_ends();

  // Collectives.
  [[nodiscard]] std::uint32_t call_of_party(std::uint32_t party) const;
  [[nodiscard]] MemberState& member_state(std::uint32_t call, std::uint32_t member) {
    return members_[calls_[call].first_party - ports_.size() + member];
  }
  void add_lanes(std::uint32_t call);
  void give_back_lanes(std::uint32_t call);
  void begin_member(std::uint32_t call, std::uint32_t member);
  void begin_again(std::uint32_t call);
  void begin_followers(std::uint32_t call);
  void begin_lanes(std::uint32_t call, std::uint32_t member);
  void run_lane(std::uint32_t lane_id);
  [[nodiscard]] bool dependencies_met(const Lane& lane) const;
  void plan_local_work(Lane& lane) const;
  [[nodiscard]] bool begin_local_work(std::uint32_t lane_id);
  void post_step(std::uint32_t lane_id);
  void post_receives(std::uint32_t lane_id);
  void post_sends(std::uint32_t lane_id);
  void repeat_step(std::uint32_t lane_id);
  void graph_repeats(Lane& lane);
  void end_step(Lane& lane);
  void finish_lane(const Lane& lane);
  void finish_member(std::uint32_t call, std::uint32_t member);
  void wake_blocked_lanes(const Lane& done);

  // Calls of known duration.
  void begin_to_reuse();
  void add_worker(std::uint32_t stream);
  void find_rivals();
  [[nodiscard]] bool offer(std::uint32_t call, std::uint32_t member);
  void begin_offered();
  [[nodiscard]] bool begin_known(std::uint32_t call);
  [[nodiscard]] const KnownCalls::Outcome& outcome_of(const CallClass& kind);
  [[nodiscard]] KnownCalls::Outcome replayed_alone(const CallClass& kind) const;
  [[nodiscard]] bool works_alone(std::uint32_t call, std::uint32_t member, TimePoint until);
  [[nodiscard]] bool meets_no_rival(std::uint32_t call, TimePoint until);
  [[nodiscard]] bool calls_before(KnownCalls::Caller& caller, TimePoint until) const;
  [[nodiscard]] TimePoint earliest_call(KnownCalls::Caller& caller, TimePoint until) const;
  void add_up_computations();
  [[nodiscard]] std::uint32_t not_begun(std::uint32_t stream) const;
  void count_replayed(std::uint32_t call, bool begins);
  void count_message(const MessageWay& way, bool begins);
  [[nodiscard]] TimePoint earliest_end(ActivityRef ref) const;
  void add_known(std::vector<UInt128>& carried, std::uint64_t& transfers) const;

  // Streams.
  void run_stream(std::uint32_t stream);
  [[nodiscard]] TimePoint issued_at(std::uint32_t stream, std::uint32_t index) const;
  void begin_operation(std::uint32_t stream);
  void finish_operation(std::uint32_t stream);
  void finish_timed_call(std::uint32_t call);
  void communicates(EndpointId at, int more);
  void change_speeds();
  void change_speed(std::uint32_t stream, bool slower);
  void begin_computing(std::uint32_t stream, const Activity& operation);
  [[nodiscard]] Duration time_of(std::uint32_t stream, std::uint32_t index) const;
  [[nodiscard]] TimePoint start_of(std::uint32_t stream, std::uint32_t index);
  void time_run(std::uint32_t stream, std::uint32_t index, TimePoint end);
  void look_at_end(std::uint32_t stream);
  [[nodiscard]] TimePoint compute(EndpointId at, const Activity& operation);
  [[nodiscard]] std::uint32_t list_of(ActivityRef ref, const Stream& waiting) const;

  // Periods.
  struct Snapshot;
  [[nodiscard]] bool is_in(const std::vector<RepeatingPart>& parts) const;
  [[nodiscard]] Snapshot snapshot() const;

  // Transfers.
  void push_from_external(TimePoint at, const FromExternal& what);
  void take_from_external(std::uint32_t id);
  [[nodiscard]] std::uint32_t external_track() const {
    return calls_.front().first_lane + external_member_index_ * calls_.front().lanes;
  }
  void receive_done(std::uint32_t track, EndpointId at, bool reduces, std::int64_t bytes);
  void post(const ConnectionKey& key, const Post& post, int slots);
  void post_slotted(const ConnectionKey& key, const Post& post, int slots);
  void begin_eager(const ConnectionKey& key, SlottedConnection& connection, const Post& send);
  void take_arrived(SlottedConnection& connection);
  void take(TransferId id);
  void free_slot(TransferId id);
  [[nodiscard]] EndpointId endpoint_of_party(const Post& from, std::uint32_t party) const;
  [[nodiscard]] TransferId take_transfer();
  void begin_transfer(const ConnectionKey& key, const Post& send, const Post& receive);
  void start(TransferId id);
  [[nodiscard]] TrafficWeight traffic_weight(std::uint32_t track) const;
  void start_matched();
  [[nodiscard]] bool issued_before(const Transfer& a, const Transfer& b) const;
  void add_work(const Piece& piece);
  void do_work(const Piece& piece);
  void do_all_work();
  [[nodiscard]] TimePoint issue_time(EndpointId from);
  void bind(TransferId id);
  void post_bound(TransferId id, std::uint8_t end);
  void unbind(TransferId id);
  void unbind_all(Lane& lane);
  void account(const Transfer& transfer, std::int64_t times);
  void finish_transfer(TransferId id);
  void transfer_done(std::uint32_t track);
  void run_ready();

  /// Track ids: indices into lanes_; for streams, their index plus kStream.
  static constexpr std::uint32_t kStream = 1U << 31U;
  [[nodiscard]] static bool is_lane(std::uint32_t track) { return track < kStream; }
  [[nodiscard]] EndpointId endpoint_of(std::uint32_t track) const {
    return is_lane(track) ? lanes_[track].endpoint : workload_->streams[track - kStream].endpoint;
  }
  /// Position of a track among all: lanes of calls, then streams, in the order of the workload.
  [[nodiscard]] std::uint64_t order_of(std::uint32_t track) const;

  void handle(const Event& event);
  [[nodiscard]] ReplayResult totals() const;

  // Deadlock report.
  [[nodiscard]] std::vector<Unfinished> unfinished() const;
  void add_unfinished_calls(std::vector<Unfinished>& out) const;
  void add_unfinished_streams(std::vector<Unfinished>& out) const;
  void add_unfinished(const ConnectionKey& key, const SlottedConnection& connection,
                      std::vector<Unfinished>& out) const;
  [[nodiscard]] std::uint32_t member_of(std::uint32_t party) const;
  [[nodiscard]] std::string describe(const Lane& lane) const;
  [[nodiscard]] std::string describe(std::uint32_t track) const;
  [[nodiscard]] std::string describe_post(const ConnectionKey& key, const Post& post) const;

  const Network* network_;
  const Workload* workload_;
  NetworkModel model_;
  std::unique_ptr<Transport> transport_;
  EventQueue queue_;
  RouteCache routes_;
  Matcher matcher_;
  SlottedConnections connections_;
  std::unordered_map<std::uint64_t, TimePoint> processor_free_;  // by endpoint and processor
  std::vector<Lane> lanes_;
  std::map<std::uint32_t, std::vector<std::uint32_t>>
      spare_lanes_;  // first lanes of free runs, by length
  std::vector<StreamState> streams_;
  // Per endpoint, ascending: streams that compute on no processor; empty where nothing slows.
  std::vector<std::vector<std::uint32_t>> computing_at_;
  std::vector<std::int32_t> communicating_;  // collectives in flight per endpoint
  std::vector<bool> slowed_;                 // endpoints where some are, before this instant
  std::vector<EndpointId> changed_;          // in this instant, from none to some or back
  bool runs_ahead_ = false;                  // the order of events in an instant decides nothing
  std::vector<CallState> calls_;
  std::vector<MemberState> members_;  // of all calls
  std::uint64_t lane_count_ = 0;      // of all calls
  std::vector<PortState> ports_;
  std::vector<Transfer> transfers_;
  std::vector<TransferId> spare_transfers_;
  std::vector<TransferId> arrived_;
  std::vector<std::uint32_t> ready_;  // tracks whose step is complete
  // If senders or queues issue messages one by one, messages matched in the same instant leave in
  // the order of issue by their senders, not of matching: those of a rank in the order of its
  // tracks (by_track_), except in queues, which are shared by ranks.
  bool issue_in_order_ = false;
  bool by_track_ = true;
  std::uint64_t next_order_ = 0;
  std::uint64_t instant_ = 0;
  bool tracks_share_ends_ = false;  // some endpoint has several tracks
  std::vector<Piece> work_;         // of this instant
  std::vector<TransferId> matched_;
  mutable ScheduleStep step_;

  std::vector<std::uint32_t> first_operation_;  // per stream
  std::vector<std::uint32_t> waiting_for_;      // per operation: incomplete dependencies
  // Dependents of each operation; stored once for streams with the same pattern.
  std::vector<ActivityRef> dependents_;
  std::vector<std::uint32_t> first_dependent_;  // per list, plus the end of the last
  std::vector<UInt128> carried_;                // per link, bytes times weight
  std::vector<std::vector<TimePoint>> call_ends_;
  std::vector<std::vector<TimePoint>> stream_ends_;
  TimePoint end_;  // end of the last operation or collective
  std::uint32_t blocked_lanes_ = 0;
  std::uint64_t transfer_count_ = 0;
  std::uint64_t finished_transfers_ = 0;  // arrived
  std::uint64_t on_links_ = 0;            // calls that are replayed, messages in flight
  TimePoint late_launch_;                 // the last launch that something had to wait for
  std::vector<LoggedTransfer> log_;
  std::optional<KnownCalls> known_;
  ExternalTransport* external_ = nullptr;
  ExternalMember* external_member_ = nullptr;
  std::uint32_t external_member_index_ = kNone;
  std::vector<FromExternal> from_external_;
  std::vector<std::uint32_t> spare_from_external_;
};

}  // namespace lockstep
