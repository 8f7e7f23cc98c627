#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "sim/engine/replay_state.hpp"
#include "sim/engine/transfers.hpp"
#include "sim/schedule/schedule.hpp"
#include "sim/schedule/schedule_traits.hpp"

namespace lockstep::engine {

class HeldCalls;
class LocalWork;
class ReusedCalls;
class Streams;

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
  BoundTransfers bound;           // of that pattern
  TransferId holds = kNone;       // its slot is released when this step ends
  TransferId took = kNone;        // its slot is released by the next step
  bool begun = false;
  bool blocked = false;  // waits for a step of another lane
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
  std::uint64_t first_of_all = 0;           // its first lane, among all lanes of the workload
  const TurnsAtEndpoints* turns = nullptr;  // null: in the order of lanes
  std::optional<StepSizes> sizes;           // none: of a given duration
  std::vector<Phase> phases;                // while in flight
  TimePoint until;                          // of a known duration: its end
  bool known = false;                       // in flight, with a known end
  bool held = false;                        // in flight, by HeldCalls
};

/// Calls of collectives: every lane of every member does step after step of its schedule. Lanes
/// exist from the start of a call's first member to the end of its last. Copyable.
class Collectives {
 public:
  explicit Collectives(const ReplayState& state);
  struct Siblings {
    ReplayState& state;
    Transfers& transfers;
    LocalWork& work;
    Streams& streams;
    ReusedCalls* reused;  // null: none are
    HeldCalls* held;      // likewise
  };
  /// Required before use, and after a copy.
  void join(const Siblings& siblings);

  // Set-up.
  /// The stream that calls a member.
  void set_caller(std::uint32_t call, std::uint32_t member, std::uint32_t stream);
  /// Whether some endpoint has lanes of several calls or several lanes.
  [[nodiscard]] bool share_ends() const;
  /// Members that no stream calls begin on their own, or with the first that one calls if no times
  /// are given.
  void begin_uncalled();

  // Calls.
  void begin_member(std::uint32_t call, std::uint32_t member);
  /// Begins a member by itself.
  void begin_lanes(std::uint32_t call, std::uint32_t member);
  /// Likewise; its transfers are replayed.
  void replay_member(std::uint32_t call, std::uint32_t member);
  /// Begins or ends to be in flight without lanes that are known here.
  void count_held(std::uint32_t call, bool begins);
  /// It is no longer held: all members come again to be replayed.
  void replay_held(std::uint32_t call);
  /// A member of a held call ends.
  void end_held(std::uint32_t call, std::uint32_t member);
  /// Ends all members of a call of known duration.
  void finish_timed(std::uint32_t call);
  /// Asks for the call's state; what finish_timed() reads comes after it.
  void fetch(std::uint32_t call) const { __builtin_prefetch(&calls_[call]); }
  [[nodiscard]] const CallState& call(std::uint32_t id) const { return calls_[id]; }
  [[nodiscard]] std::uint32_t calls() const { return static_cast<std::uint32_t>(calls_.size()); }
  /// One more member of the call waits to begin with the others.
  void offer(std::uint32_t call) { ++calls_[call].awaited; }
  /// All members of the call are in flight together, until then.
  void begin_known(std::uint32_t call, TimePoint until);
  /// A known call is in flight until then, or has ended for a member then, without an event.
  void set_known(std::uint32_t call, TimePoint until);
  void end_known(std::uint32_t call, std::uint32_t member, TimePoint at);
  [[nodiscard]] std::uint32_t caller(std::uint32_t call, std::uint32_t member) const {
    return members_[calls_[call].first_party - first_party_ + member].stream;
  }
  [[nodiscard]] bool has_ended(std::uint32_t call, std::uint32_t member) const {
    return members_[calls_[call].first_party - first_party_ + member].lanes_left == 0;
  }
  /// Calls in flight whose transfers are replayed.
  [[nodiscard]] std::uint32_t calls_in_flight() const { return in_flight_; }
  [[nodiscard]] std::vector<std::vector<TimePoint>>& ends() { return ends_; }
  [[nodiscard]] const std::vector<std::vector<TimePoint>>& ends() const { return ends_; }

  // Lanes.
  /// Continues with a lane whose present step has not been posted yet.
  void run_lane(Track lane);
  void step_part_done(Track lane);
  [[nodiscard]] const Lane& lane(Track id) const { return lanes_[id]; }
  [[nodiscard]] BoundTransfers& bound(Track lane) { return lanes_[lane].bound; }
  /// Whether it posts the same again next.
  [[nodiscard]] bool repeats(Track lane) const { return lanes_[lane].repeats_left > 0; }
  /// The lane forwards a message out of its slot in its next step.
  void holds_slot(Track lane, TransferId id) { lanes_[lane].took = id; }
  [[nodiscard]] TrafficWeight traffic_weight(Track lane) const {
    return state_->workload->calls[lanes_[lane].call].traffic_weight;
  }
  /// In which order an endpoint does what it does in one instant.
  [[nodiscard]] std::uint64_t order_of(Track lane) const;

  // Parties: endpoints of streams come first, then the members of all calls.
  [[nodiscard]] std::uint32_t party(std::uint32_t call, std::uint32_t member) const {
    return calls_[call].first_party + member;
  }
  [[nodiscard]] ConnectionKey connection(Track from, Track to, std::uint32_t channel) const;
  [[nodiscard]] Track first_track(std::uint32_t call, std::uint32_t member) const {
    return calls_[call].first_lane + member * calls_[call].lanes;
  }
  [[nodiscard]] std::uint32_t call_of_party(std::uint32_t party) const;
  /// The rank of a party of a call; the endpoint of one of streams.
  [[nodiscard]] std::uint32_t member_of(std::uint32_t party) const;
  /// At the far end of what the lane posts.
  [[nodiscard]] EndpointId endpoint_of_party(Track lane, std::uint32_t party) const;

 private:
  /// One member of one call.
  struct MemberState {
    std::uint32_t stream = kNone;  // the caller
    std::uint32_t lanes_left = 0;
    bool told = false;  // of its end, before its lanes come to it
  };

  void add(const CollectiveCall& call);
  [[nodiscard]] bool follows(std::uint32_t call);
  [[nodiscard]] MemberState& member_state(std::uint32_t call, std::uint32_t member) {
    return members_[calls_[call].first_party - first_party_ + member];
  }
  /// Of a member's computation meanwhile.
  [[nodiscard]] std::int64_t permille_during(std::uint32_t call) const;
  void add_lanes(std::uint32_t call);
  void give_back_lanes(std::uint32_t call);
  void begin_again(std::uint32_t call);
  void begin_followers(std::uint32_t call);
  void begin_or_offer(std::uint32_t call, std::uint32_t member);
  /// Among all lanes of the workload.
  [[nodiscard]] std::uint64_t number_of(const Lane& lane) const;
  void read_step(const Lane& lane);
  [[nodiscard]] bool dependencies_met(const Lane& lane) const;
  void plan_local_work(Lane& lane) const;
  [[nodiscard]] bool begin_local_work(Track lane_id);
  void post_step(Track lane_id);
  void post_receives(Track lane_id);
  void post_sends(Track lane_id);
  void repeat_step(Track lane_id);
  void count_repeats(Lane& lane);
  void end_step(Lane& lane);
  void finish_lane(const Lane& lane);
  void finish_member(std::uint32_t call, std::uint32_t member);
  void fetch_callers(std::uint32_t call) const;
  [[nodiscard]] std::uint32_t member_called_by(std::uint32_t call, std::uint32_t stream) const;
  void wake_blocked_lanes(const Lane& done);

  ReplayState* state_ = nullptr;
  Transfers* transfers_ = nullptr;
  LocalWork* work_ = nullptr;
  Streams* streams_ = nullptr;
  ReusedCalls* reused_ = nullptr;
  HeldCalls* held_ = nullptr;

  std::uint32_t first_party_;  // of all calls
  std::vector<CallState> calls_;
  std::vector<MemberState> members_;  // of all calls
  std::vector<Lane> lanes_;
  /// First lanes of free runs, by length.
  std::map<std::uint32_t, std::vector<std::uint32_t>> spare_lanes_;
  std::uint64_t lane_count_ = 0;
  std::uint32_t blocked_lanes_ = 0;
  std::uint32_t in_flight_ = 0;
  std::vector<std::vector<TimePoint>> ends_;  // per call, per member
  ScheduleStep step_;                         // the last that was read
};

}  // namespace lockstep::engine
