#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "sim/engine/frontier_ends.hpp"
#include "sim/engine/matching/connections.hpp"
#include "sim/engine/matching/matcher.hpp"
#include "sim/engine/replay_state.hpp"
#include "sim/network/route_cache.hpp"
#include "sim/network/transport.hpp"
#include "sim/reuse/tight_routes.hpp"

namespace lockstep::engine {

class Collectives;
class HeldCalls;
class LocalWork;
class ReusedCalls;
class Tracks;

/// Transfers whose both ends repeat them, of one lane: in the order of its step.
struct BoundTransfers {
  TransferId first_sent = kNone;
  TransferId first_received = kNone;
  std::uint32_t count = 0;
};

/// A transfer between two tracks. If both ends repeat it, it is bound: it is kept, and the ends
/// mark that they have reached it again without being matched again.
struct Transfer {
  static constexpr std::uint8_t kSender = 1;
  static constexpr std::uint8_t kReceiver = 2;
  Track sender = 0;
  Track receiver = 0;
  std::int64_t bytes = 0;
  std::int64_t reduced = 0;  // at the receiver, over all messages it stands for
  std::int64_t times = 1;
  EndpointId from = 0;
  EndpointId to = 0;
  std::uint32_t channel = 0;
  std::uint32_t kept = 0;           // the transport's handle
  std::uint32_t send_place = 0;     // index among the sends of the sender's step
  std::uint32_t receive_place = 0;  // likewise
  TransferId next_sent = kNone;     // bound: the sender's next by index
  TransferId next_received = kNone;
  std::uint64_t order = 0;    // of the send among all sends
  std::uint64_t instant = 0;  // when it was posted
  bool reduces = false;
  bool bound = false;
  bool eager = false;                    // of a connection with slots
  bool arrived = false;                  // eager: not received yet
  bool forwarded = false;                // eager: holds its slot until it is forwarded
  ConnectionKey connection{};            // eager
  SlottedConnection* slotted = nullptr;  // likewise
  std::uint8_t posted = 0;  // bits of the ends that have reached a bound transfer again
  TimePoint start{};        // earliest start
  const TightRoutes::Tight* tight = nullptr;  // if there are
};

/// Both ends of a transfer meet, the network carries it, and its tracks learn of its end. On a
/// connection with slots a send leaves as soon as it has one, whether or not the receiver has come.
class Transfers {
 public:
  Transfers(const ReplayState& state, const FrontierEnds& frontier);
  Transfers(const Transfers& other);
  Transfers& operator=(const Transfers&) = delete;
  ~Transfers() = default;
  struct Siblings {
    ReplayState& state;
    const Tracks& tracks;
    Collectives& collectives;
    LocalWork& work;
    ReusedCalls* reused;  // null: none are
    HeldCalls* held;      // likewise
  };
  /// Required before use, and after a copy.
  void join(const Siblings& siblings);

  /// One end of a transfer. `slots`: of its connection; 0: a send waits for the receive.
  void post(const ConnectionKey& key, const Post& post, int slots);
  /// An end has reached a bound transfer again.
  void post_bound(TransferId id, std::uint8_t end);
  /// A lane goes on to other steps.
  void unbind_all(const BoundTransfers& of);
  [[nodiscard]] const Transfer& transfer(TransferId id) const { return transfers_[id]; }

  /// Hands the transfers that were matched in this instant to the network, in the order of issue.
  void start_matched();
  /// An event of the transport.
  void handle(const Event& event);
  /// What is started from now on is on a network of its own, until it is brought to the present:
  /// its transfers in flight, and the events that are left of it.
  void begin_past();
  void end_past(EventQueue& past, EventQueue& present);
  /// At the end of an instant.
  void settle() { transport_->settle(state_->queue); }

  /// A receiver has reduced a message out of its slot.
  void take(TransferId id);
  /// The slot of a message that has been received and, if it is to be, forwarded.
  void free_slot(TransferId id);

  /// One end of a transfer with the external member, or the end of an external transfer.
  void take_from_frontier(std::uint32_t id);
  [[nodiscard]] FrontierEnds& frontier() { return frontier_; }

  // Results.
  [[nodiscard]] std::vector<UInt128> carried() const;  // per link, bytes times weight
  [[nodiscard]] std::uint64_t count() const { return count_; }
  [[nodiscard]] std::uint64_t finished() const { return finished_; }
  [[nodiscard]] std::uint64_t solves() const { return transport_->solves(); }
  [[nodiscard]] std::uint32_t messages_in_flight() const { return messages_; }
  [[nodiscard]] std::vector<LoggedTransfer>& log() { return log_; }
  [[nodiscard]] const std::vector<LoggedTransfer>& log() const { return log_; }

  // What waits, for the report of a deadlock.
  [[nodiscard]] const Matcher& unmatched() const { return matcher_; }
  [[nodiscard]] const SlottedConnections& connections() const { return connections_; }
  [[nodiscard]] const std::vector<Transfer>& all() const { return transfers_; }

 private:
  void begin(const ConnectionKey& key, const Post& send, const Post& receive);
  [[nodiscard]] TransferId take_room();
  void leave(TransferId id);
  void start(TransferId id);
  [[nodiscard]] bool issued_before(const Transfer& a, const Transfer& b) const;
  [[nodiscard]] TimePoint issue_time(EndpointId from);
  void bind(TransferId id);
  void unbind(TransferId id);
  [[nodiscard]] const Route& route_of(const Transfer& transfer);
  void find_tight(Transfer& transfer) const;
  void account(const Transfer& transfer, std::int64_t times);
  void finish(TransferId id);
  void receive_done(Track track, EndpointId at, bool reduces, std::int64_t bytes);
  [[nodiscard]] Track external_track() const;
  [[nodiscard]] bool is_of_streams(const ConnectionKey& key) const {
    return key.from < state_->network->endpoints.size();
  }

  void post_slotted(const ConnectionKey& key, const Post& post, int slots);
  void begin_eager(const ConnectionKey& key, SlottedConnection& connection, const Post& send);
  void take_arrived(SlottedConnection& connection);

  ReplayState* state_ = nullptr;
  const Tracks* tracks_ = nullptr;
  Collectives* collectives_ = nullptr;
  LocalWork* work_ = nullptr;
  ReusedCalls* reused_ = nullptr;
  HeldCalls* held_ = nullptr;

  std::unique_ptr<Transport> transport_;
  std::unique_ptr<Transport> other_transport_;  // of the past; null: there has been none
  RouteCache routes_;
  Matcher matcher_;
  SlottedConnections connections_;
  FrontierEnds frontier_;
  std::vector<Transfer> transfers_;
  std::vector<TransferId> spare_;
  std::vector<TransferId> matched_;   // in this instant, where the order of issue counts
  std::vector<TransferId> arrived_;   // of the event at hand
  std::vector<TimePoint> send_free_;  // per endpoint: when its software can issue the next message
  std::vector<UInt128> carried_;      // per link, bytes times weight
  std::vector<UInt128> sent_;         // per number of TightRoutes, bytes: not in carried_
  std::uint64_t count_ = 0;
  std::uint64_t finished_ = 0;  // arrived
  std::uint32_t messages_ = 0;  // of streams, in flight
  std::vector<LoggedTransfer> log_;
};

}  // namespace lockstep::engine
