#include "topologies/routing/merge_routes.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "sim/base/check.hpp"
#include "sim/base/math.hpp"

namespace lockstep {
namespace {

/// Hops from the sender, then where the link starts, then which it is.
using Key = std::tuple<int, VertexId, LinkId>;

/// The part of all that a hop of a route with `paths` of `total` paths has, rounded up.
Weight part(Weight weight, std::int64_t paths, UInt128 total) {
  return static_cast<Weight>(ceil_div(UInt128{weight} * static_cast<UInt128>(paths), total));
}

std::int64_t capped(UInt128 paths) {
  return static_cast<std::int64_t>(std::min(paths, static_cast<UInt128>(INT64_MAX)));
}

}  // namespace

Route merge_routes(const Cluster& cluster, const std::vector<Route>& routes) {
  LOCKSTEP_CHECK(!routes.empty());
  if (routes.size() == 1) return routes.front();
  UInt128 total = 0;
  for (const Route& route : routes) total += static_cast<UInt128>(route.paths);
  std::map<Key, Weight> hops;
  for (const Route& route : routes) {
    std::map<VertexId, int> level;  // hops come in order of distance: a link's start is known
    for (const Hop& hop : route.hops) {
      const ClusterLink link = cluster.built_link(hop.link);
      const int at = level[link.from];
      level[link.to] = at + 1;
      hops[{at, link.from, hop.link}] += part(hop.weight, route.paths, total);
    }
  }
  Route merged;
  for (const auto& [key, weight] : hops) merged.hops.push_back({std::get<2>(key), weight});
  merged.latency = routes.front().latency;
  merged.paths = capped(total);
  return merged;
}

Route merge_outlines(const std::vector<Route>& routes) {
  LOCKSTEP_CHECK(!routes.empty());
  if (routes.size() == 1) return routes.front();
  UInt128 total = 0;
  for (const Route& route : routes) total += static_cast<UInt128>(route.paths);
  Route merged;
  std::map<LinkId, std::size_t> place;
  for (const Route& route : routes) {
    for (const Hop& hop : route.hops) {
      const auto [found, is_new] = place.try_emplace(hop.link, merged.hops.size());
      if (is_new) merged.hops.push_back({hop.link, 0});
      merged.hops[found->second].weight += part(hop.weight, route.paths, total);
    }
  }
  merged.latency = routes.front().latency;
  merged.paths = capped(total);
  return merged;
}

}  // namespace lockstep
