#include "topologies/routing.hpp"

#include <algorithm>
#include <utility>

#include "topologies/cluster_data.hpp"
#include "topologies/stretches.hpp"

namespace lockstep {
namespace {

class ClusterRouter final : public Router {
 public:
  ClusterRouter(const Cluster& cluster, RoutePolicy policy, std::uint64_t seed)
      : data_{cluster.shared()}, seed_{seed}, stretches_{cluster, policy} {}

  [[nodiscard]] bool route(EndpointId from, EndpointId to, Route& route) const override {
    route.clear();
    if (from == to) return true;
    const EndpointPlace source = place_of(*data_, from);
    const EndpointPlace target = place_of(*data_, to);
    const std::uint64_t hash = route_hash(from, to, seed_);
    if (source.copy != target.copy) return between_nodes(source, target, hash, route);
    return stretches_.between(source.copy, source.place, target.place, hash, route);
  }

 private:
  /// The rails on which a transfer leaves and arrives.
  [[nodiscard]] std::pair<int, int> rails(std::size_t from, std::size_t to) const {
    const NodeRoutes& node = stretches_.tables();
    const int own = node.rail_of(from);
    const int peer = node.rail_of(to);
    if (data_->rail_first) {
      const int common = node.is_gpu(to) || !node.is_gpu(from) ? peer : own;
      return {common, common};
    }
    const bool join_peer = !node.is_gpu(from) && node.is_gpu(to) && node.is_near(from, peer);
    const bool join_own = !node.is_gpu(to) && node.is_gpu(from) && node.is_near(to, own);
    return {join_peer ? peer : own, join_own ? own : peer};
  }

  bool between_nodes(EndpointPlace from, EndpointPlace to, std::uint64_t hash, Route& route) const {
    const auto [leaving, arriving] = rails(from.place, to.place);
    const auto exit = stretches_.exit(from.copy, from.place, leaving);
    const auto entry = stretches_.entry(to.copy, to.place, arriving);
    if (!exit || !entry || exit->plane != entry->plane) return false;
    return stretches_.leave(from.copy, from.place, leaving, hash, route) &&
           stretches_.across(exit->plane, exit->leaf, entry->leaf, hash, route) &&
           stretches_.arrive(to.copy, to.place, arriving, hash, route);
  }

  std::shared_ptr<const ClusterData> data_;
  std::uint64_t seed_;
  Stretches stretches_;
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
  return std::make_shared<ClusterRouter>(cluster, policy, seed);
}

}  // namespace lockstep
