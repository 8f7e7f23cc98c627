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

/// Appends a stretch to a route: its hops with `first_link` added to their ids, its latency, and as
/// many times the paths.
void append_stretch(Route& route, const std::vector<Hop>& hops, Duration latency,
                    std::int64_t paths, LinkId first_link);

/// What draws among equal paths for ecmp.
[[nodiscard]] inline std::uint64_t route_hash(EndpointId from, EndpointId to, std::uint64_t seed) {
  return (std::uint64_t{from} << 32U | to) ^ seed * kGoldenGamma;
}

/// A graph in which ways are searched by a policy and remembered. Thread-safe. Internal.
class SearchGraph {
 public:
  /// As if the links that are marked in `failed` (empty: none) were not there.
  SearchGraph(const Graph& graph, RoutePolicy policy, const std::vector<bool>& failed = {})
      : paths_{graph, failed}, policy_{policy} {}

  /// Appends the best ways between two vertices; `hash` draws one of them for ecmp. False, and
  /// `route` as it was, if there is none.
  [[nodiscard]] bool append(VertexId from, VertexId to, LinkId first_link, std::uint64_t hash,
                            Route& route) const;
  /// The same for a stretch that is known, in links of this graph.
  void append(const std::vector<Hop>& hops, Duration latency, std::int64_t paths, LinkId first_link,
              std::uint64_t hash, Route& route) const;

  /// How long the best ways between two vertices are; none if there is none. Cheap where one
  /// `from` is asked for after the other.
  [[nodiscard]] std::optional<RouteLength> length(VertexId from, VertexId to) const;

  [[nodiscard]] const PathGraph& paths() const { return paths_; }

 private:
  PathGraph paths_;
  RoutePolicy policy_;
  mutable SharedRouteCache cache_;
  mutable std::mutex distances_mutex_;
  mutable std::shared_ptr<const PathDistances> distances_;  // from the vertex last asked for
};

}  // namespace lockstep
