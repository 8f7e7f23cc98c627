#pragma once

#include <cstdint>
#include <unordered_map>

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

struct ConnectionHash {
  std::size_t operator()(const ConnectionKey& key) const {
    std::uint64_t h = ((std::uint64_t{key.from} << 32U) | key.to) * 0x9E3779B97F4A7C15ULL;
    h ^= key.channel * 0xC2B2AE3D27D4EB4FULL;
    return static_cast<std::size_t>(h ^ (h >> 29U));
  }
};

using SlottedConnections = std::unordered_map<ConnectionKey, SlottedConnection, ConnectionHash>;

}  // namespace lockstep
