#include "sim/reuse/tight_routes.hpp"

#include <utility>

#include "sim/base/check.hpp"
#include "sim/network/route_cache.hpp"
#include "sim/network/slack_links.hpp"

namespace lockstep {

namespace {

/// Whether each route crosses a link at most once.
class CrossesOnce {
 public:
  explicit CrossesOnce(std::size_t links) : crossed_(links, 0) {}

  [[nodiscard]] bool operator()(const Route& route) {
    ++route_;
    for (const Hop& hop : route.hops)
      if (std::exchange(crossed_[hop.link], route_) == route_) return false;
    return true;
  }

 private:
  std::vector<std::uint32_t> crossed_;  // per link, by which route last
  std::uint32_t route_ = 0;
};

}  // namespace

TightRoutes::TightRoutes(const Network& network, bool only_ports,
                         const std::vector<MessageWay>& ways)
    : by_channel_{!ways.empty() && network.router->by_channel()} {
  RouteCache known{network.endpoints.size()};
  CrossesOnce crosses_once{network.links.size()};
  std::size_t hops = 0;
  for (const MessageWay& way : ways) {
    const MessageWay key = by_channel_ ? way : way.any_tag();
    const auto [found, is_new] = routes_.try_emplace(key);
    if (!is_new) continue;
    const Route* route = known.find(*network.router, key.from, key.to, key.tag);
    LOCKSTEP_CHECK(route != nullptr);
    found->second = {*route, static_cast<std::uint32_t>(routes_.size() - 1)};
    hops += route->hops.size();
    if (hops <= kMostHops && crosses_once(*route)) continue;
    routes_.clear();
    return;
  }
  std::vector<Route*> all;
  all.reserve(routes_.size());
  for (auto& [way, tight] : routes_) all.push_back(&tight.route);
  drop_slack_links(all, network.links, only_ports);
}

void TightRoutes::add_up(const Network& network, const std::vector<UInt128>& amounts,
                         std::vector<UInt128>& carried) const {
  RouteCache whole{network.endpoints.size()};
  for (const auto& [way, tight] : routes_) {
    if (tight.number >= amounts.size() || amounts[tight.number] == 0) continue;
    const Route& route = *whole.find(*network.router, way.from, way.to, way.tag);
    for (const Hop& hop : route.hops) carried[hop.link] += amounts[tight.number] * hop.weight;
  }
}

}  // namespace lockstep
