#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

#include "sim/base/hash.hpp"
#include "sim/network/network.hpp"

namespace lockstep {

/// Cache of routes by pair of places, bounded by total hops; a full shard is cleared. Shared by the
/// threads of many replays, each with a small RouteCache in front of it. Thread-safe; does not
/// affect results.
class SharedRouteCache {
 public:
  /// Calls `use(route)` under a lock if the route is cached.
  template <class Use>
  [[nodiscard]] bool use(std::uint64_t pair, Use&& use) const {
    const Shard& shard = shards_[shard_of(pair)];
    const std::shared_lock lock{shard.mutex};
    const auto found = shard.routes.find(pair);
    if (found == shard.routes.end()) return false;
    use(found->second);
    return true;
  }

  void keep(std::uint64_t pair, const Route& route) {
    Shard& shard = shards_[shard_of(pair)];
    const std::unique_lock lock{shard.mutex};
    // An entry of the table takes about as much as six hops.
    shard.hops += route.hops.size() + 6;
    if (shard.hops > kMostHops / kShards) {
      shard.routes.clear();
      shard.hops = route.hops.size() + 6;
    }
    shard.routes.insert_or_assign(pair, route);
  }

 private:
  static constexpr std::size_t kShards = 64;
  static constexpr std::size_t kMostHops = std::size_t{1} << 22U;  // 64 MiB

  struct Shard {
    mutable std::shared_mutex mutex;
    std::unordered_map<std::uint64_t, Route> routes;
    std::size_t hops = 0;
  };

  [[nodiscard]] static std::size_t shard_of(std::uint64_t pair) {
    return (pair * kGoldenGamma) >> 58U;
  }

  std::array<Shard, kShards> shards_;
};

}  // namespace lockstep
