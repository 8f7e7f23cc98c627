#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "sim/base/hash.hpp"
#include "topologies/routing/path_graph.hpp"
#include "topologies/routing/route_length.hpp"
#include "topologies/routing/routing.hpp"
#include "topologies/routing/shared_route_cache.hpp"

namespace lockstep {

/// Appends a segment to a route: its hops with `first_link` added to their ids and its latency;
/// multiplies the number of paths.
void append_stretch(Route& route, const std::vector<Hop>& hops, Duration latency,
                    std::int64_t paths, LinkId first_link);

/// Hash that selects among equal paths for ecmp.
[[nodiscard]] inline std::uint64_t route_hash(EndpointId from, EndpointId to, std::uint64_t seed) {
  return (std::uint64_t{from} << 32U | to) ^ seed * kGoldenGamma;
}

/// A graph with cached path search by a policy. Thread-safe. Internal.
class SearchGraph {
 public:
  /// `failed`: by link id, excluded; empty: none.
  SearchGraph(const Graph& graph, RoutePolicy policy, const std::vector<bool>& failed = {})
      : paths_{graph, failed}, policy_{policy} {}

  /// Appends the best paths between two vertices; `hash` selects one for ecmp. False, with `route`
  /// unchanged, if there is none.
  [[nodiscard]] bool append(VertexId from, VertexId to, LinkId first_link, std::uint64_t hash,
                            Route& route) const;
  /// The same for a known segment, with links of this graph.
  void append(const std::vector<Hop>& hops, Duration latency, std::int64_t paths, LinkId first_link,
              std::uint64_t hash, Route& route) const;

  /// Length of the best paths between two vertices; none if there is none. Fast for consecutive
  /// calls with the same `from`.
  [[nodiscard]] std::optional<RouteLength> length(VertexId from, VertexId to) const;

  [[nodiscard]] const PathGraph& paths() const { return paths_; }

 private:
  PathGraph paths_;
  RoutePolicy policy_;
  mutable SharedRouteCache cache_;
  mutable std::mutex distances_mutex_;
  mutable std::shared_ptr<const PathDistances> distances_;  // from the vertex of the last call
};

}  // namespace lockstep
