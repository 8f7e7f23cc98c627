#include "sim/reuse/tight_routes.hpp"

#include <algorithm>
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
  std::vector<MessageWay> keys;
  for (const MessageWay& way : ways) keys.push_back(by_channel_ ? way : way.any_tag());
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  RouteCache known{network.endpoints.size()};
  CrossesOnce crosses_once{network.links.size()};
  std::size_t hops = 0;
  routes_.reserve(keys.size());
  first_of_.assign(network.endpoints.size() + 1, 0);
  for (const MessageWay& key : keys) {
    const Route* route = known.find(*network.router, key.from, key.to, key.tag);
    LOCKSTEP_CHECK(route != nullptr);
    routes_.push_back({key, *route, static_cast<std::uint32_t>(routes_.size())});
    first_of_[key.from + 1] = static_cast<std::uint32_t>(routes_.size());
    hops += route->hops.size();
    if (hops <= kMostHops && crosses_once(*route)) continue;
    routes_.clear();
    return;
  }
  for (std::size_t i = 1; i < first_of_.size(); ++i)
    first_of_[i] = std::max(first_of_[i], first_of_[i - 1]);
  std::vector<Route*> all;
  all.reserve(routes_.size());
  for (Tight& each : routes_) all.push_back(&each.route);
  drop_slack_links(all, network.links, only_ports);
}

void TightRoutes::add_up(const Network& network, const std::vector<UInt128>& amounts,
                         std::vector<UInt128>& carried) const {
  RouteCache whole{network.endpoints.size()};
  for (std::size_t i = 0; i < amounts.size(); ++i) {
    if (amounts[i] == 0) continue;
    const MessageWay& way = routes_[i].way;
    const Route& route = *whole.find(*network.router, way.from, way.to, way.tag);
    for (const Hop& hop : route.hops) carried[hop.link] += amounts[i] * hop.weight;
  }
}

}  // namespace lockstep
