#include "sim/reuse/tight_routes.hpp"

#include <algorithm>
#include <utility>

#include "sim/base/check.hpp"
#include "sim/network/slack_links.hpp"
#include "sim/reuse/key.hpp"

namespace lockstep {

namespace {

/// Of ways of which each is asked for once.
class WholeRoutes {
 public:
  explicit WholeRoutes(const Router& router) : router_{router} {}

  /// Valid until the next call.
  [[nodiscard]] const Route& of(const MessageWay& way) {
    if (router_.by_channel())
      if (const Route* held = router_.held_route(way.tag)) return *held;
    route_.clear();
    LOCKSTEP_CHECK(router_.route_of(way.from, way.to, way.tag, route_));
    return route_;
  }

 private:
  const Router& router_;
  Route route_;
};

/// Links that every route crosses all or none of, with equal weights, saturate together or the
/// narrowest of them first, which stands for them. In a fabric of 4,096 nodes most of the 500 links
/// between two leaves are such.
class Bundles {
 public:
  explicit Bundles(const Network& network)
      : network_{network}, routes_of_(network.links.size()), crossed_(network.links.size(), 0) {}

  /// False if the route crosses a link twice.
  [[nodiscard]] bool add(const Route& route) {
    ++route_;
    fold::Key key;
    Weight weight = 0;
    for (const Hop& hop : route.hops) {
      if (std::exchange(crossed_[hop.link], route_) == route_) return false;
      if (hop.weight != weight) key = fold::KeyBuilder{}.add(route_).add(hop.weight).key();
      weight = hop.weight;
      routes_of_[hop.link] += key;
    }
    return true;
  }

  /// After the last route.
  void choose() {
    std::vector<LinkId> links;
    for (LinkId link = 0; link < crossed_.size(); ++link)
      if (crossed_[link] != 0) links.push_back(link);
    const auto bundle = [this](LinkId link) {
      return std::pair{routes_of_[link], network_.links[link].port};
    };
    std::sort(links.begin(), links.end(), [&](LinkId a, LinkId b) {
      if (bundle(a) != bundle(b)) return bundle(a) < bundle(b);
      return std::pair{network_.links[a].bandwidth, a} < std::pair{network_.links[b].bandwidth, b};
    });
    stands_.assign(crossed_.size(), false);
    for (std::size_t i = 0; i < links.size(); ++i)
      stands_[links[i]] = i == 0 || bundle(links[i - 1]) != bundle(links[i]);
  }

  [[nodiscard]] Route of(const Route& route) const {
    Route out{{}, route.latency, route.paths};
    for (const Hop& hop : route.hops)
      if (stands_[hop.link]) out.hops.push_back(hop);
    return out;
  }

 private:
  const Network& network_;
  std::vector<fold::Key> routes_of_;    // per link, and their weights: a sum
  std::vector<std::uint32_t> crossed_;  // per link, by which route last
  std::vector<bool> stands_;            // per link, for its bundle
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
  WholeRoutes whole{*network.router};
  Bundles bundles{network};
  std::size_t hops = 0;
  for (const MessageWay& key : keys) {
    const Route& route = whole.of(key);
    hops += route.hops.size();
    if (hops > kMostHops || !bundles.add(route)) return;
  }
  bundles.choose();
  hops = 0;
  routes_.reserve(keys.size());
  first_of_.assign(network.endpoints.size() + 1, 0);
  for (const MessageWay& key : keys) {
    routes_.push_back({key, bundles.of(whole.of(key)), static_cast<std::uint32_t>(routes_.size())});
    first_of_[key.from + 1] = static_cast<std::uint32_t>(routes_.size());
    hops += routes_.back().route.hops.size();
    if (hops <= kMostHopsOfBundles) continue;
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
  WholeRoutes whole{*network.router};
  for (std::size_t i = 0; i < amounts.size(); ++i) {
    if (amounts[i] == 0) continue;
    const MessageWay& way = routes_[i].way;
    const Route& route = whole.of(way);
    for (const Hop& hop : route.hops) carried[hop.link] += amounts[i] * hop.weight;
  }
}

}  // namespace lockstep
