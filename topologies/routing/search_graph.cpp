#include "topologies/routing/search_graph.hpp"

namespace lockstep {

void append_stretch(Route& route, const std::vector<Hop>& hops, Duration latency,
                    std::int64_t paths, LinkId first_link) {
  for (const Hop& hop : hops) route.hops.push_back({hop.link + first_link, hop.weight});
  route.latency += latency;
  std::int64_t product = 0;
  const bool fits = !__builtin_mul_overflow(route.paths, paths, &product);
  route.paths = fits ? product : INT64_MAX;
}

bool SearchGraph::append(VertexId from, VertexId to, LinkId first_link, std::uint64_t hash,
                         Route& route) const {
  const std::uint64_t pair = std::uint64_t{from} << 32U | to;
  const auto use = [&](const Route& known) {
    append(known.hops, known.latency, known.paths, first_link, hash, route);
  };
  if (cache_.use(pair, use)) return true;
  Route searched;
  if (!paths_.find(from, to, searched)) return false;
  if (policy_ == RoutePolicy::shortest) choose_lowest(paths_, searched);
  cache_.keep(pair, searched);
  use(searched);
  return true;
}

std::optional<RouteLength> SearchGraph::length(VertexId from, VertexId to) const {
  std::shared_ptr<const PathDistances> distances;
  {
    const std::scoped_lock lock{distances_mutex_};
    if (!distances_ || distances_->from != from)
      distances_ = std::make_shared<const PathDistances>(paths_.distances(from));
    distances = distances_;
  }
  if (distances->hops[to] == PathDistances::kNoWay) return std::nullopt;
  return RouteLength{distances->hops[to], Duration::picoseconds(distances->latency_ps[to])};
}

void SearchGraph::append(const std::vector<Hop>& hops, Duration latency, std::int64_t paths,
                         LinkId first_link, std::uint64_t hash, Route& route) const {
  if (policy_ != RoutePolicy::ecmp || paths == 1) {
    append_stretch(route, hops, latency, paths, first_link);
    return;
  }
  Route one{hops, latency, paths};
  choose_hashed(paths_, hash, one);
  append_stretch(route, one.hops, one.latency, one.paths, first_link);
}

}  // namespace lockstep
