#include "sim/reuse/tight_routes.hpp"

#include <doctest/doctest.h>

#include <map>
#include <utility>

/// Which links are left follows from drop_slack_links(), tested in network/slack_links_test.cpp;
/// here it is a matter of which routes it is given.
using namespace lockstep;

namespace {

/// Routes from a table.
class Table final : public Router {
 public:
  std::map<std::pair<EndpointId, EndpointId>, Route> routes;
  [[nodiscard]] bool route(EndpointId from, EndpointId to, Route& route) const override {
    const auto found = routes.find({from, to});
    if (found == routes.end()) return false;
    route = found->second;
    return true;
  }
};

/// Two hosts of 1 GB/s that send to a third over a cable of 2 GB/s; links 0 and 1 are theirs, 2 is
/// the cable, 3 the third's.
struct Fabric {
  Network network{{{1_GBps, {}, true}, {1_GBps, {}, true}, {2_GBps, {}, false}, {4_GBps, {}, true}},
                  std::vector<Endpoint>(3),
                  nullptr};
  std::shared_ptr<Table> table = std::make_shared<Table>();

  Fabric() {
    table->routes[{0, 2}] = {{{0}, {2}, {3}}, 1_us, 1};
    table->routes[{1, 2}] = {{{1}, {2}, {3}}, 2_us, 1};
    network.router = table;
  }
  [[nodiscard]] TightRoutes of(const std::vector<MessageWay>& ways) const {
    return {network, false, ways};
  }
};

std::vector<LinkId> links_of(const Route& route) {
  std::vector<LinkId> out;
  for (const Hop& hop : route.hops) out.push_back(hop.link);
  return out;
}

}  // namespace

TEST_CASE("links that the messages of a workload cannot fill are left out, latencies stay") {
  const TightRoutes routes = Fabric{}.of({{0, 2, 7}, {1, 2, 8}, {0, 2, 9}});
  REQUIRE(routes.useful());
  // One GB/s each come to a cable of 2 GB/s less a step per transfer for rounding: it may be full.
  // The third host's link, of 4 GB/s, is behind the cable.
  CHECK(links_of(routes.of({0, 2, 7}).route) == std::vector<LinkId>{0, 2});
  CHECK(links_of(routes.of({0, 2, 9}).route) == std::vector<LinkId>{0, 2});
  CHECK(routes.of({1, 2, 0}).route.latency == 2_us);
  // Without the other host the first one's link is the narrowest.
  CHECK(links_of(Fabric{}.of({{0, 2, 7}}).of({0, 2, 7}).route) == std::vector<LinkId>{0});
}

/// Every route leaves over a link of the sender and is split over as many cables as there are.
class Trunk final : public Router {
 public:
  Trunk(std::uint32_t hosts, std::uint32_t cables) : hosts_{hosts}, cables_{cables} {}
  [[nodiscard]] bool route(EndpointId from, EndpointId, Route& route) const override {
    route.hops.push_back({from});
    for (LinkId cable = 0; cable < cables_; ++cable)
      route.hops.push_back({hosts_ + cable, kWeightUnit / cables_});
    return true;
  }

 private:
  std::uint32_t hosts_;
  std::uint32_t cables_;
};

TEST_CASE("of links that all messages cross together the narrowest is left, of however many") {
  // 3,000 routes of 4,097 hops: 12 million. All hosts of 1 GB/s fill the cables, of which the
  // second is the narrowest.
  constexpr std::uint32_t kHosts = 3000;
  constexpr std::uint32_t kCables = 4096;
  Network network{std::vector<Link>(kHosts + kCables, Link{1_GBps, {}, true}),
                  std::vector<Endpoint>(kHosts + 1), std::make_shared<Trunk>(kHosts, kCables)};
  for (LinkId cable = 0; cable < kCables; ++cable)
    network.links[kHosts + cable] = {
        cable == 1 ? Rate::bytes_per_second(100'000'000) : Rate::bytes_per_second(200'000'000),
        {},
        false};
  std::vector<MessageWay> ways;
  for (EndpointId host = 0; host < kHosts; ++host) ways.push_back({host, kHosts, 0});
  const TightRoutes routes{network, false, ways};
  REQUIRE(routes.useful());
  CHECK(links_of(routes.of(ways[7]).route) == std::vector<LinkId>{7, kHosts + 1});
}

TEST_CASE("bytes are counted on all links of a way, tight or not") {
  const Fabric fabric;
  const TightRoutes routes = fabric.of({{0, 2, 7}, {1, 2, 8}});
  std::vector<UInt128> amounts(2);
  amounts[routes.of({0, 2, 7}).number] = 5;
  amounts[routes.of({1, 2, 8}).number] = 7;
  std::vector<UInt128> carried(fabric.network.links.size());
  routes.add_up(fabric.network, amounts, carried);
  const UInt128 weight = kWeightUnit;
  CHECK(carried == std::vector<UInt128>{5 * weight, 7 * weight, 12 * weight, 12 * weight});
}

TEST_CASE("routes that cross a link twice are kept whole") {
  Fabric fabric;
  fabric.table->routes[{1, 2}] = {{{1}, {2}, {2}, {3}}, 1_us, 1};
  CHECK(fabric.of({{0, 2, 0}}).useful());
  CHECK_FALSE(fabric.of({{0, 2, 0}, {1, 2, 0}}).useful());
}
