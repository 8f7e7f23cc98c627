#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "sim/base/hash.hpp"
#include "sim/network/network.hpp"

namespace lockstep {

/// A direct-mapped cache of recently used routes with bounded memory, for ranks that repeatedly
/// communicate with the same peers. Copyable.
class RouteCache {
 public:
  explicit RouteCache(std::size_t endpoints)
      : entries_(std::bit_ceil(std::clamp<std::size_t>(4 * endpoints, 16, kMostEntries))) {}

  /// nullptr if there is no route. The pointer is valid until the next call.
  [[nodiscard]] const Route* find(const Router& router, EndpointId from, EndpointId to,
                                  std::uint32_t channel) {
    if (!router.by_channel()) {
      channel = 0;
    } else if (const Route* held = router.held_route(channel)) {
      return held;
    }
    Entry& entry = entries_[slot(from, to, channel)];
    if (entry.from == from && entry.to == to && entry.channel == channel) return &entry.route;
    entry.from = kNobody;
    entry.route.clear();
    if (!router.route_of(from, to, channel, entry.route)) return nullptr;
    entry.from = from;
    entry.to = to;
    entry.channel = channel;
    return &entry.route;
  }

 private:
  static constexpr std::size_t kMostEntries = std::size_t{1} << 16U;
  static constexpr EndpointId kNobody = UINT32_MAX;
  struct Entry {
    EndpointId from = kNobody;
    EndpointId to = kNobody;
    std::uint32_t channel = 0;
    Route route;
  };

  [[nodiscard]] std::size_t slot(EndpointId from, EndpointId to, std::uint32_t channel) const {
    const std::uint64_t key = (std::uint64_t{from} << 32U) | to;
    const std::uint64_t mixed = (key + channel * 0xC2B2AE3D27D4EB4FULL) * kGoldenGamma;
    return static_cast<std::size_t>(mixed >> 40U) & (entries_.size() - 1);
  }

  std::vector<Entry> entries_;
};

}  // namespace lockstep
