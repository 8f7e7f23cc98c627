#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/network/event_queue.hpp"
#include "sim/network/network.hpp"

namespace lockstep {

using TransferId = std::uint32_t;

/// Kinds of events that belong to a transport; the engine's own start at kEngineEvents.
enum class TransportEvent : std::uint8_t {
  arrive,      // a transfer's first byte is there: its fluid flow begins, its message enters a link
  flow_ends,   // a flow that shares with nobody ends
  group_ends,  // the next flow of a component ends
  delivered,   // nothing left to wait for
  left,        // the last byte has left the sender; `id` is the transfer. Goes to the engine
};
inline constexpr std::uint32_t kEngineEvents = 8;

/// How transfers take time: the one interface of all network models. The engine starts transfers,
/// hands back the events that the transport pushed, and lets it settle once per instant.
class Transport {
 public:
  virtual ~Transport() = default;

  /// An independent copy in the same state, for an engine that splits.
  [[nodiscard]] virtual std::unique_ptr<Transport> clone() const = 0;

  /// A transfer of `size` sets out along `route` at `at` (not before the queue's clock). With
  /// `keep` the transport remembers it, so that an equal one can follow by start_again; the result
  /// then names it until drop.
  virtual std::uint32_t start(TransferId transfer, const Route& route, Bytes size, TimePoint at,
                              bool keep, EventQueue& queue) = 0;
  /// The same transfer once more. Requires that the last one has arrived.
  virtual void start_again(std::uint32_t kept, TimePoint at, EventQueue& queue) = 0;
  virtual void drop(std::uint32_t kept) = 0;
  /// A transfer whose sender goes on when its last byte has left: announces that instant by a
  /// `left` event, and the arrival like any other.
  virtual void start_eager(TransferId transfer, const Route& route, Bytes size, TimePoint at,
                           EventQueue& queue) = 0;

  /// Takes one of the transport's events; appends the transfers that have thereby arrived whole.
  virtual void handle(const Event& event, EventQueue& queue, std::vector<TransferId>& arrived) = 0;

  /// All events of this instant have been handled: works out what follows from them.
  virtual void settle(EventQueue& queue) = 0;

  /// How many times shares were worked out, for components of several flows.
  [[nodiscard]] virtual std::uint64_t solves() const { return 0; }

 protected:
  Transport() = default;
  Transport(const Transport&) = default;
  Transport& operator=(const Transport&) = default;
};

/// Max-min fair sharing of every link (fluid), or of ports only with each transfer capped by its
/// route's smallest bandwidth (alpha-beta).
[[nodiscard]] std::unique_ptr<Transport> make_fluid_transport(const Network& network);
[[nodiscard]] std::unique_ptr<Transport> make_alpha_beta_transport(const Network& network);
/// Whole messages, first in first out on every link, cut-through. Takes single paths only: throws
/// InternalError for a route that is split.
[[nodiscard]] std::unique_ptr<Transport> make_queue_transport(const Network& network);

}  // namespace lockstep
