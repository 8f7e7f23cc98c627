#include "topologies/routing.hpp"

#include <algorithm>
#include <utility>

#include "sim/check.hpp"
#include "topologies/cluster_data.hpp"
#include "topologies/node_routes.hpp"
#include "topologies/path_graph.hpp"
#include "topologies/shared_route_cache.hpp"

namespace lockstep {
namespace {

/// Nodes with more places than this (rings and the like) are searched pair by pair instead.
constexpr std::size_t kMostTabled = 128;

std::uint64_t pair_key(std::uint32_t a, std::uint32_t b) {
  return std::uint64_t{a} << 32U | b;
}

void append(Route& route, const std::vector<Hop>& hops, Duration latency, std::int64_t paths,
            LinkId first_link) {
  for (const Hop& hop : hops) route.hops.push_back({hop.link + first_link, hop.weight});
  route.latency += latency;
  std::int64_t product = 0;
  const bool fits = !__builtin_mul_overflow(route.paths, paths, &product);
  route.paths = fits ? product : INT64_MAX;
}

/// An end point's node and its place there.
struct Where {
  std::size_t copy;
  std::size_t place;
};

class ClusterRouter final : public Router {
 public:
  ClusterRouter(std::shared_ptr<const ClusterData> data, RoutePolicy policy, std::uint64_t seed)
      : data_{std::move(data)},
        policy_{policy},
        seed_{seed},
        node_graph_{*data_->node.graph},
        plane_graph_{*data_->fabric.plane} {
    const std::size_t places = data_->gpus.size() + data_->cpus.size();
    if (places <= kMostTabled) node_.emplace(*data_, node_graph_, policy_);
    find_terminal_order();
  }

  [[nodiscard]] bool route(EndpointId from, EndpointId to, Route& route) const override {
    route.clear();
    if (from == to) return true;
    const Where source = where(from);
    const Where target = where(to);
    const std::uint64_t hash = pair_key(from, to) ^ seed_ * 0x9e3779b97f4a7c15U;
    if (source.copy != target.copy) return between_nodes(source, target, hash, route);
    if (node_) return add(node_->between(source.place, target.place), source.copy, hash, route);
    return found(node_graph_, place_vertex(source.place), place_vertex(target.place), 0, hash,
                 route);
  }

 private:
  /// Per terminal of the node: its plane's number and its turn there.
  void find_terminal_order() {
    terminal_plane_.resize(data_->terminals.size());
    terminal_turn_.resize(data_->terminals.size());
    for (std::size_t t = 0; t < data_->terminals.size(); ++t) {
      for (std::size_t plane = 0; plane < data_->plane_terminals.size(); ++plane) {
        const auto& of_plane = data_->plane_terminals[plane];
        const auto found = std::find(of_plane.begin(), of_plane.end(), data_->terminals[t]);
        if (found == of_plane.end()) continue;
        terminal_plane_[t] = plane;
        terminal_turn_[t] = static_cast<std::size_t>(found - of_plane.begin());
      }
    }
  }

  [[nodiscard]] Where where(EndpointId endpoint) const {
    if (data_->single_gpus()) return {endpoint, 0};
    const auto ranks = static_cast<EndpointId>(data_->rank_count);
    const std::size_t gpus = data_->gpus.size();
    if (endpoint < ranks) return {endpoint / gpus, endpoint % gpus};
    const std::size_t helper = endpoint - ranks;
    return {helper / data_->cpus.size(), gpus + helper % data_->cpus.size()};
  }

  [[nodiscard]] VertexId place_vertex(std::size_t place) const {
    const std::size_t gpus = data_->gpus.size();
    return place < gpus ? data_->gpus[place] : data_->cpus[place - gpus];
  }

  /// The rails on which a transfer leaves and arrives.
  [[nodiscard]] std::pair<int, int> rails(std::size_t from, std::size_t to) const {
    const int own = node_->rail_of(from);
    const int peer = node_->rail_of(to);
    if (data_->rail_first) {
      const int common = node_->is_gpu(to) || !node_->is_gpu(from) ? peer : own;
      return {common, common};
    }
    const bool join_peer = !node_->is_gpu(from) && node_->is_gpu(to) && node_->is_near(from, peer);
    const bool join_own = !node_->is_gpu(to) && node_->is_gpu(from) && node_->is_near(to, own);
    return {join_peer ? peer : own, join_own ? own : peer};
  }

  bool between_nodes(Where from, Where to, std::uint64_t hash, Route& route) const {
    const auto [leaving, arriving] = rails(from.place, to.place);
    const std::size_t exit = node_->exit(from.place, leaving);
    const std::size_t entry = node_->entry(to.place, arriving);
    return add(node_->out(from.place, leaving), from.copy, hash, route) &&
           through_fabric(from.copy, exit, to.copy, entry, hash, route) &&
           add(node_->in(to.place, arriving), to.copy, hash, route);
  }

  bool through_fabric(std::size_t from, std::size_t exit, std::size_t to, std::size_t entry,
                      std::uint64_t hash, Route& route) const {
    const std::size_t plane = terminal_plane_[exit];
    if (plane != terminal_plane_[entry]) return false;
    const std::size_t per_node = data_->plane_terminals[plane].size();
    const std::size_t source = from * per_node + terminal_turn_[exit];
    const std::size_t target = to * per_node + terminal_turn_[entry];
    const auto first =
        static_cast<LinkId>(data_->first_plane_link() + plane * data_->plane_links());
    const VertexId first_switch = data_->fabric.switch_of[source];
    const VertexId last_switch = data_->fabric.switch_of[target];
    const Duration latency = data_->fabric.host_link.latency;
    route.hops.push_back({first + static_cast<LinkId>(2 * source), kWeightUnit});
    route.latency += latency;
    if (first_switch != last_switch) {
      const auto offset = first + static_cast<LinkId>(data_->host_links());
      if (!found(plane_graph_, first_switch, last_switch, offset, hash, route)) return false;
    }
    route.hops.push_back({first + static_cast<LinkId>(2 * target + 1), kWeightUnit});
    route.latency += latency;
    return true;
  }

  /// Appends a stretch inside a node.
  bool add(const Leg* leg, std::size_t copy, std::uint64_t hash, Route& route) const {
    if (leg == nullptr) return false;
    const auto first = static_cast<LinkId>(copy * data_->node_links());
    if (policy_ == RoutePolicy::ecmp && leg->paths > 1) {
      Route one{leg->hops, leg->latency, leg->paths};
      choose_hashed(node_graph_, hash, one);
      append(route, one.hops, one.latency, one.paths, first);
    } else {
      append(route, leg->hops, leg->latency, leg->paths, first);
    }
    return true;
  }

  /// Appends the best ways between two vertices of a graph, from the cache where they are there.
  bool found(const PathGraph& graph, VertexId from, VertexId to, LinkId first_link,
             std::uint64_t hash, Route& route) const {
    const auto use = [&](const Route& known) { take(graph, known, first_link, hash, route); };
    if (cache_.use(pair_key(from, to), use)) return true;
    Route searched;
    if (!graph.find(from, to, searched)) return false;
    if (policy_ == RoutePolicy::shortest) choose_lowest(graph, searched);
    cache_.keep(pair_key(from, to), searched);
    use(searched);
    return true;
  }

  void take(const PathGraph& graph, const Route& known, LinkId first_link, std::uint64_t hash,
            Route& route) const {
    if (policy_ != RoutePolicy::ecmp || known.paths == 1) {
      append(route, known.hops, known.latency, known.paths, first_link);
      return;
    }
    Route one = known;
    choose_hashed(graph, hash, one);
    append(route, one.hops, one.latency, one.paths, first_link);
  }

  std::shared_ptr<const ClusterData> data_;
  RoutePolicy policy_;
  std::uint64_t seed_;
  PathGraph node_graph_;
  PathGraph plane_graph_;
  std::optional<NodeRoutes> node_;
  std::vector<std::size_t> terminal_plane_;
  std::vector<std::size_t> terminal_turn_;
  mutable SharedRouteCache
      cache_;  // a cluster has either large nodes or a fabric: one cache will do
};

}  // namespace

std::optional<RoutePolicy> parse_route_policy(std::string_view text) {
  const auto found = std::find(kRoutePolicyNames.begin(), kRoutePolicyNames.end(), text);
  if (found == kRoutePolicyNames.end()) return std::nullopt;
  return static_cast<RoutePolicy>(found - kRoutePolicyNames.begin());
}

std::int64_t path_length(const Route& route) {
  Weight sum = 0;
  for (const Hop& hop : route.hops) sum += hop.weight;
  return static_cast<std::int64_t>((sum + kWeightUnit / 2) / kWeightUnit);
}

std::shared_ptr<const Router> make_router(const Cluster& cluster, RoutePolicy policy,
                                          std::uint64_t seed) {
  return std::make_shared<ClusterRouter>(cluster.shared(), policy, seed);
}

}  // namespace lockstep
