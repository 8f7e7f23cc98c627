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
inline constexpr std::uint32_t kEngineEvents = 8;

/// Interface of all network models. The engine starts transfers, passes events back to the
/// transport that pushed them, and calls settle() once per instant.
class Transport {
 public:
  virtual ~Transport() = default;

  /// An independent copy of the current state, for class splits.
  [[nodiscard]] virtual std::unique_ptr<Transport> clone() const = 0;

  /// Starts a transfer of `size` along `route` at `at` (not before the queue's clock). With `keep`
  /// the transport stores it for start_again(); the result identifies it until drop().
  virtual std::uint32_t start(TransferId transfer, const Route& route, Bytes size, TimePoint at,
                              bool keep, EventQueue& queue) = 0;
  /// Repeats a stored transfer. Requires that the last one has arrived.
  virtual void start_again(std::uint32_t kept, TimePoint at, EventQueue& queue) = 0;
  virtual void drop(std::uint32_t kept) = 0;
  /// Starts a transfer whose sender continues when its last byte has left, which is announced by a
  /// `left` event in addition to the arrival.
  virtual void start_eager(TransferId transfer, const Route& route, Bytes size, TimePoint at,
                           EventQueue& queue) = 0;

  /// Handles one of the transport's events; appends the transfers that have arrived completely.
  virtual void handle(const Event& event, EventQueue& queue, std::vector<TransferId>& arrived) = 0;

  /// Called after all events of an instant, to recompute rates.
  virtual void settle(EventQueue& queue) = 0;

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
