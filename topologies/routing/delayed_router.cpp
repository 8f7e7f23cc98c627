#include "topologies/routing/delayed_router.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace lockstep {
namespace {

/// Hops come in order of distance: all links into a vertex stand before those out of it.
Duration slowest_path(const Cluster& cluster, const Route& route) {
  std::unordered_map<VertexId, Duration> reached;  // looked up only
  Duration last;
  for (const Hop& hop : route.hops) {
    const ClusterLink link = cluster.link(hop.link);
    Duration& there = reached[link.to];
    there = std::max(there, reached[link.from] + link.figures.latency);
    last = std::max(last, there);
  }
  return last;
}

class DelayedRouter final : public Router {
 public:
  DelayedRouter(Cluster cluster, std::shared_ptr<const Router> router)
      : cluster_{std::move(cluster)}, router_{std::move(router)} {}

  [[nodiscard]] bool route(EndpointId from, EndpointId to, Route& route) const override {
    if (!router_->route(from, to, route)) return false;
    const bool delayed = std::any_of(route.hops.begin(), route.hops.end(), [this](const Hop& hop) {
      const LinkState* state = cluster_.overlay().find(hop.link);
      return state != nullptr && state->delayed;
    });
    if (delayed) route.latency = slowest_path(cluster_, route);
    return true;
  }

 private:
  Cluster cluster_;
  std::shared_ptr<const Router> router_;
};

}  // namespace

std::shared_ptr<const Router> with_delays(const Cluster& cluster,
                                          std::shared_ptr<const Router> router) {
  if (!cluster.overlay().any_delayed()) return router;
  return std::make_shared<DelayedRouter>(cluster, std::move(router));
}

}  // namespace lockstep
