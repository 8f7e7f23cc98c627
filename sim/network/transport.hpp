#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/network/event_queue.hpp"
#include "sim/network/network.hpp"

namespace lockstep {

using TransferId = std::uint32_t;

/// Event kinds of transports; the engine's own start at kEngineEvents.
enum class TransportEvent : std::uint8_t {
  arrive,      // a transfer's first byte: its fluid flow starts, or its message enters a link
  flow_ends,   // a flow without shared links ends
  group_ends,  // the next flow of a component ends
  delivered,   // the transfer is complete
  left,        // the last byte has left the sender; `id` is the transfer. For the engine
};
inline constexpr std::uint32_t kEngineEvents = 5;

/// Interface of all network models. The engine starts transfers, passes events back to the
/// transport that pushed them, and calls settle() once per instant.
class Transport {
 public:
  virtual ~Transport() = default;

  /// An independent copy of the current state, for class splits.
  [[nodiscard]] virtual std::unique_ptr<Transport> clone() const = 0;

  /// What to carry. `at`: not before the queue's clock. With `keep` the transport stores it for
  /// start_again(). `eager`: the sender continues when the last byte has left, which is announced
  /// by a `left` event in addition to the arrival.
  struct Message {
    TransferId transfer = 0;
    Bytes size{};
    TimePoint at{};
    TrafficWeight weight = 1;  // 1 where the model has no weights (the queue model)
    bool keep = false;
    bool eager = false;
  };
  /// Starts a message along `route`; the result identifies it until drop().
  virtual std::uint32_t start(const Message& message, const Route& route, EventQueue& queue) = 0;
  /// Repeats a stored transfer. Requires that the last one has arrived.
  virtual void start_again(std::uint32_t kept, TimePoint at, EventQueue& queue) = 0;
  virtual void drop(std::uint32_t kept) = 0;

  /// Handles one of the transport's events; appends the transfers that have arrived completely.
  virtual void handle(const Event& event, EventQueue& queue, std::vector<TransferId>& arrived) = 0;

  /// Called after all events of an instant, to recompute rates.
  virtual void settle(EventQueue& queue) = 0;

  /// A transfer that one transport hands over to another.
  struct Transit {
    Message message;
    std::uint32_t id = 0;  // in the transport that had it
    Int128 work = 0;       // that is left
    bool on_links = false;
  };
  /// Gives up all that it carries or keeps, at the end of the instant `now`, before or after
  /// settle(). Of its events only `arrive` and `delivered` stay valid, for the transport that takes
  /// over. It can be used again, from any instant on.
  [[nodiscard]] virtual std::vector<Transit> hand_over(TimePoint now);
  /// Carries it on from this instant; settle() follows. Returns what identifies it.
  virtual std::uint32_t take_over(const Transit& transit, const Route& route);

  /// Number of rate computations for components of several flows.
  [[nodiscard]] virtual std::uint64_t solves() const { return 0; }

 protected:
  Transport() = default;
  Transport(const Transport&) = default;
  Transport& operator=(const Transport&) = default;
};

/// Max-min fair sharing of every link (fluid), or of ports only, with each transfer capped by its
/// route's lowest bandwidth (alpha-beta).
[[nodiscard]] std::unique_ptr<Transport> make_fluid_transport(const Network& network);
[[nodiscard]] std::unique_ptr<Transport> make_alpha_beta_transport(const Network& network);
/// FIFO links with cut-through forwarding of whole messages. Throws InternalError for split routes.
[[nodiscard]] std::unique_ptr<Transport> make_queue_transport(const Network& network);

}  // namespace lockstep
