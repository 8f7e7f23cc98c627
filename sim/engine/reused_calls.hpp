#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "sim/engine/replay_state.hpp"
#include "sim/reuse/call_classes.hpp"
#include "sim/reuse/communicating_operations.hpp"

namespace lockstep::engine {

class Collectives;
class Streams;

/// A workload that an engine has replayed on its own, and bytes times weight per link.
struct SeparateReplay {
  ReplayResult result;
  std::vector<UInt128> carried;
};
using ReplaySeparately = SeparateReplay (*)(const Network& network, const Workload& workload,
                                            NetworkModel model);

/// Calls that nothing else can touch while they are in flight: the first of a shape is replayed on
/// its own, the others take as long. Nothing can where all members begin at one instant, no call
/// that crosses the same links is in flight or can begin meanwhile, and no member comes to reduce
/// or copy for another call. Copyable.
class ReusedCalls {
 public:
  /// Requires can_reuse().
  ReusedCalls(const ReplayState& state, ReplaySeparately replay);
  struct Siblings {
    ReplayState& state;
    Collectives& collectives;
    Streams& streams;
  };
  /// Required before use, and after a copy.
  void join(const Siblings& siblings);

  /// Lets a member that begins wait for the others of this instant. False if it is to begin by
  /// itself.
  [[nodiscard]] bool offer(std::uint32_t call, std::uint32_t member);
  [[nodiscard]] bool has_offers() const { return !offers_.empty(); }
  /// Begins what was offered: calls whose members are all there as known ones, if they are. The
  /// tracks that are ready then must run before more is offered.
  void begin_offered();

  /// Whether all members end together where all begin together and nothing else comes to the call.
  [[nodiscard]] bool ends_together(std::uint32_t call) {
    return outcome_of(kinds_.kinds[kinds_.of_call[call]]).together;
  }
  /// Begins a call of which one member has come for all, and that nothing else can ever meet.
  /// Requires ends_together().
  void begin_together(std::uint32_t call);

  /// A call that is replayed has begun or ended.
  void count_replayed(std::uint32_t call, bool begins);
  /// A message of a stream has been sent or has arrived.
  void count_message(const MessageWay& way, bool begins);

  /// Of all messages, without links that never limit them. Null: all links are kept.
  [[nodiscard]] const TightRoutes* routes() const {
    return kinds_.routes->useful() ? kinds_.routes.get() : nullptr;
  }
  /// Shape of a call that nothing else can ever meet; null: it is none.
  [[nodiscard]] const fold::Key* shape_of_private(std::uint32_t call) const;
  [[nodiscard]] const CallClasses& classes() const { return kinds_; }
  /// Ends of the call's members from their begins, if nothing else comes to it. Requires routes().
  [[nodiscard]] std::vector<TimePoint> replayed_alone(std::uint32_t call,
                                                      const std::vector<TimePoint>& begins) const;
  /// The call has happened once more, without a replay of its transfers.
  void count_held_use(std::uint32_t call) {
    static_cast<void>(outcome_of(kinds_.kinds[kinds_.of_call[call]]));
    count_use(call);
  }
  /// The call has happened once more, as known.
  void count_use(std::uint32_t call) { ++uses_[kinds_.of_call[call]]; }

  /// Adds what known calls have put on links: bytes times weight.
  void add_to(std::vector<UInt128>& carried, std::uint64_t& transfers) const;

 private:
  /// Replay of an isolated call of one shape whose members all start together.
  struct Outcome {
    bool together = false;  // all members end together; otherwise the shape is not reused
    Duration takes{};
    std::vector<UInt128> carried{};  // per link of the shape, bytes times weight
    std::uint64_t transfers = 0;
  };
  /// A stream with calls that others must not meet.
  struct Caller {
    std::uint32_t stream = 0;
    std::vector<std::uint32_t> operations{};  // those calls
    std::size_t next = 0;                     // first of them that has not ended
    TimePoint earliest{};                     // lower bound on its start
  };
  /// A member that began in this instant.
  struct Offer {
    std::uint32_t call = 0;
    std::uint32_t member = 0;
  };

  void add_worker(const Workload& workload, std::uint32_t stream);
  void find_rivals(const Workload& workload);
  void find_counted();
  void add_up_computations(const Workload& workload);
  [[nodiscard]] std::uint32_t group_of(std::uint32_t call) const {
    return kinds_.kinds[kinds_.of_call[call]].group;
  }
  [[nodiscard]] bool begin_known(std::uint32_t call);
  [[nodiscard]] const Outcome& outcome_of(const CallClass& kind);
  [[nodiscard]] Outcome replayed_alone(const CallClass& kind) const;
  [[nodiscard]] bool works_alone(std::uint32_t call, std::uint32_t member, TimePoint until);
  [[nodiscard]] bool meets_no_rival(std::uint32_t call, TimePoint until);
  [[nodiscard]] bool calls_before(Caller& caller, TimePoint until) const;
  [[nodiscard]] TimePoint earliest_call(Caller& caller, TimePoint until) const;
  [[nodiscard]] TimePoint earliest_end(ActivityRef ref) const;

  ReplayState* state_ = nullptr;
  Collectives* collectives_ = nullptr;
  Streams* streams_ = nullptr;

  const Workload* workload_;
  ReplaySeparately replay_;
  CommunicatingOperations communicating_;
  CallClasses kinds_;
  std::map<fold::Key, Outcome> outcomes_;
  std::vector<std::uint64_t> uses_;  // per class
  /// Endpoints with two or more streams whose calls make them reduce or copy.
  std::map<EndpointId, std::vector<Caller>> workers_at_;
  // Per group: who calls its rivals or sends messages over its links.
  std::vector<std::vector<Caller>> rivals_of_;
  std::vector<std::uint32_t> replayed_;  // per group: calls in flight that are replayed
  std::vector<std::uint32_t> messages_;  // per group: those in flight on its links
  bool counts_messages_ = false;         // some are on links of known groups
  // Of these, by number of the message's route; empty: routes have none.
  std::vector<std::vector<std::uint32_t>> counted_;
  /// Per stream: of its calls, the last that was looked at for rivals.
  std::vector<std::uint32_t> own_calls_;
  /// Per stream: time of the computations before each operation; the same for streams of a pattern.
  std::vector<std::shared_ptr<const std::vector<Duration>>> computed_before_;
  std::vector<Offer> offers_;
};

}  // namespace lockstep::engine
