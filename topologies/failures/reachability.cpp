#include "topologies/failures/reachability.hpp"

#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/strong_components.hpp>
#include <map>
#include <set>
#include <vector>

#include "topologies/routing/route_segments.hpp"

namespace lockstep {
namespace {

using Pair = std::pair<EndpointId, EndpointId>;

std::optional<Pair> first_without_route(const Router& router,
                                        const std::vector<EndpointId>& senders,
                                        const std::vector<EndpointId>& receivers) {
  Route route;
  for (const EndpointId from : senders) {
    for (const EndpointId to : receivers) {
      if (!router.route(from, to, route)) return Pair{from, to};
    }
  }
  return std::nullopt;
}

std::vector<EndpointId> all_ranks(const Cluster& cluster) {
  std::vector<EndpointId> ranks(static_cast<std::size_t>(cluster.ranks()));
  for (std::size_t i = 0; i < ranks.size(); ++i) ranks[i] = static_cast<EndpointId>(i);
  return ranks;
}

// --- one graph

/// Ranks in the nodes that a failed link touches, and rank 0.
std::vector<EndpointId> suspects(const Cluster& cluster) {
  std::set<std::int32_t> nodes;
  for (const LinkState& state : cluster.overlay().all()) {
    const ClusterLink link = cluster.built_link(state.id);
    if (!state.failed) continue;
    nodes.insert(cluster.vertex(link.from).node);
    nodes.insert(cluster.vertex(link.to).node);
  }
  std::vector<EndpointId> found;
  for (const EndpointId rank : all_ranks(cluster)) {
    const std::int32_t node = cluster.vertex(cluster.vertex_of(rank)).node;
    if (rank == 0 || nodes.count(node) != 0) found.push_back(rank);
  }
  return found;
}

std::optional<Pair> cut_off_in_graph(const Cluster& cluster, const Router& router) {
  constexpr int kMostRanks = 256;
  const auto ranks = all_ranks(cluster);
  if (cluster.ranks() <= kMostRanks) return first_without_route(router, ranks, ranks);
  const auto chosen = suspects(cluster);
  if (const auto found = first_without_route(router, chosen, ranks)) return found;
  return first_without_route(router, ranks, chosen);
}

// --- nodes on a fabric

/// Per switch of a plane the number of the set whose members all reach one another.
std::vector<int> islands(const Graph& plane, const std::vector<bool>& failed) {
  boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS> working(vertex_count(plane));
  for_each_link(plane, [&](VertexId from, VertexId to, const GraphLink& link) {
    if (!failed[link.id]) boost::add_edge(from, to, working);
  });
  std::vector<int> number(vertex_count(plane));
  boost::strong_components(working, number.data());
  return number;
}

/// What decides whom the places of a node reach: what it has lost, and to which island of which
/// plane each of its terminals is cabled.
using Sort = std::pair<std::size_t, std::vector<int>>;

class Sorts {
 public:
  explicit Sorts(const Cluster& cluster)
      : data_{cluster.shared()}, stretches_{cluster, RoutePolicy::shortest} {
    for (const auto& [plane, failed] : failed_links_of(cluster, stretches_.ports()).planes) {
      islands_[plane] = islands(*data_->fabric.plane, failed);
    }
  }

  [[nodiscard]] Sort of(std::size_t copy) const {
    const FabricPorts& ports = stretches_.ports();
    Sort sort{stretches_.failed_links(copy), {}};
    for (std::size_t t = 0; t < data_->terminals.size(); ++t) {
      const auto found = islands_.find(ports.plane(t));
      const bool whole = found == islands_.end();
      sort.second.push_back(whole ? 0 : found->second[ports.leaf(copy, t)]);
    }
    return sort;
  }

 private:
  std::shared_ptr<const ClusterData> data_;
  RouteSegments stretches_;
  std::map<std::size_t, std::vector<int>> islands_;  // by plane
};

/// The ranks of two nodes of every sort.
std::vector<EndpointId> representatives(const Cluster& cluster) {
  constexpr int kOfEachSort = 2;
  const Sorts sorts{cluster};
  std::map<Sort, int> seen;
  std::vector<EndpointId> chosen;
  std::size_t last_copy = SIZE_MAX;
  bool wanted = false;
  for (const EndpointId rank : all_ranks(cluster)) {
    const std::size_t copy = place_of(cluster.data(), rank).copy;
    if (copy != last_copy) wanted = seen[sorts.of(copy)]++ < kOfEachSort;
    last_copy = copy;
    if (wanted) chosen.push_back(rank);
  }
  return chosen;
}

}  // namespace

std::optional<Pair> first_cut_off(const Cluster& cluster) {
  if (!cluster.overlay().any_failed()) return std::nullopt;
  const auto router = make_router(cluster, RoutePolicy::shortest);
  if (cluster.data().planes == 0) return cut_off_in_graph(cluster, *router);
  const auto chosen = representatives(cluster);
  return first_without_route(*router, chosen, chosen);
}

}  // namespace lockstep
