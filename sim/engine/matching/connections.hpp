#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "sim/base/fifo.hpp"
#include "sim/engine/matching/matcher.hpp"
#include "sim/network/transport.hpp"

namespace lockstep {

/// A connection with a limited number of slots. A send takes a slot and leaves, in order; a receive
/// takes the oldest arrived message and releases its slot, after forwarding it if it is forwarded.
struct SlottedConnection {
  int slots = 1;
  int used = 0;
  Fifo<Post> sends;             // wait for a slot
  Fifo<TransferId> on_the_way;  // in flight or arrived, oldest first
  Fifo<Post> receives;          // wait for a message
};

/// Connections with slots that are in use. References hold until erase(). Copyable.
class SlottedConnections {
 public:
  /// Begins to use it if nobody does.
  [[nodiscard]] SlottedConnection& use(const ConnectionKey& key) {
    const std::size_t at = places_.find(key);
    if (places_.used(at)) return all_[places_[at]];
    std::uint32_t place = 0;
    if (spare_.empty()) {
      place = static_cast<std::uint32_t>(all_.size());
      all_.emplace_back();
    } else {
      place = spare_.back();
      spare_.pop_back();
    }
    places_.insert(at, key, place);
    return all_[place];
  }
  /// Requires that nothing waits or is on its way.
  void erase(const ConnectionKey& key) {
    const std::size_t at = places_.find(key);
    spare_.push_back(places_[at]);
    places_.erase(at);
  }
  /// Calls visit(key, connection) for every one in use, in no particular order.
  template <typename Visit>
  void each(Visit visit) const {
    places_.each([&](const ConnectionKey& key, std::uint32_t place) { visit(key, all_[place]); });
  }

 private:
  ConnectionTable<std::uint32_t> places_;
  std::deque<SlottedConnection> all_;
  std::vector<std::uint32_t> spare_;
};

}  // namespace lockstep
