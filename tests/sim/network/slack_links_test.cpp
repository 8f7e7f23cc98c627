#include "sim/network/slack_links.hpp"

#include <doctest/doctest.h>

/// Which links can be left out follows from the definition of max-min shares: those whose level is
/// above another's whatever flows there are.
using namespace lockstep;

namespace {

/// The links that are left on each route.
std::vector<std::vector<LinkId>> left(std::vector<Route> routes, const std::vector<Link>& links,
                                      bool only_ports = false) {
  std::vector<Route*> all;
  for (Route& route : routes) all.push_back(&route);
  drop_slack_links(all, links, only_ports);
  std::vector<std::vector<LinkId>> out;
  for (const Route& route : routes) {
    out.emplace_back();
    for (const Hop& hop : route.hops) out.back().push_back(hop.link);
  }
  return out;
}

Route over(std::vector<Hop> hops) {
  return {std::move(hops), 1_us, 1};
}

using Left = std::vector<std::vector<LinkId>>;

}  // namespace

TEST_CASE("a link that a narrower one is always crossed with can never be full first") {
  const std::vector<Link> links{{1_GBps, {}, true}, {2_GBps, {}, true}};
  CHECK(left({over({{0}, {1}})}, links) == Left{{0}});
  CHECK(left({over({{0}, {1}}), over({{0}})}, links) == Left{{0}, {0}});
  // What crosses the wide one alone may fill it.
  CHECK(left({over({{0}, {1}}), over({{1}})}, links) == Left{{0, 1}, {1}});
}

TEST_CASE("of links that bound each other one stays") {
  const std::vector<Link> links{{1_GBps, {}, true}, {1_GBps, {}, true}, {1_GBps, {}, true}};
  CHECK(left({over({{0}, {1}, {2}}), over({{0}, {1}, {2}})}, links) == Left{{2}, {2}});
}

TEST_CASE("weights count: a quarter of a route needs a quarter of the width") {
  const std::vector<Link> links{{4_GBps, {}, true}, {1_GBps, {}, false}};
  CHECK(left({over({{0}, {1, kWeightUnit / 4}})}, links) == Left{{1}});
  CHECK(left({over({{0}, {1, kWeightUnit / 2}})}, links) == Left{{1}});
  CHECK(left({over({{0}, {1, kWeightUnit / 8}})}, links) == Left{{0}});
}

TEST_CASE("ports that together let less through than a cable carries leave it out") {
  // Two hosts of 1 GB/s each send over one cable to two others, everybody to everybody.
  const auto hosts = [](Rate cable) {
    std::vector<Link> links(5, {1_GBps, {}, true});
    links[4] = {cable, {}, false};
    return left({over({{0}, {4}, {2}}), over({{0}, {4}, {3}}), over({{1}, {4}, {2}}),
                 over({{1}, {4}, {3}})},
                links);
  };
  CHECK(hosts(3_GBps) == Left{{0, 2}, {0, 3}, {1, 2}, {1, 3}});
  // Exactly as much: rounded down, levels could be equal while some port's is higher.
  CHECK(hosts(2_GBps) == Left{{0, 4, 2}, {0, 4, 3}, {1, 4, 2}, {1, 4, 3}});
}

TEST_CASE(
    "of a split route the port counts that whole ones cross too, though it is narrower elsewhere") {
  // Two hosts of 1 GB/s each send over cable 4, two others over cable 5. A fifth, whose link 6 is
  // of half a GB/s, sends half by way of hosts 0 and 2 each: what it sends is part of what they let
  // through, 2 GB/s a cable.
  const auto hosts = [](Rate cable) {
    std::vector<Link> links(7, {1_GBps, {}, true});
    links[4] = links[5] = {cable, {}, false};
    links[6] = {Rate::bytes_per_second(500'000'000), {}, true};
    const Weight half = kWeightUnit / 2;
    return left({over({{0}, {4}}), over({{1}, {4}}), over({{2}, {5}}), over({{3}, {5}}),
                 over({{6}, {0, half}, {2, half}, {4, half}, {5, half}})},
                links);
  };
  CHECK(hosts(3_GBps) == Left{{0}, {1}, {2}, {3}, {6, 0, 2}});
  CHECK(hosts(Rate::bytes_per_second(2'100'000'000)) == Left{{0}, {1}, {2}, {3}, {6, 0, 2}});
  CHECK(hosts(2_GBps) == Left{{0, 4}, {1, 4}, {2, 5}, {3, 5}, {6, 0, 2, 4, 5}});
}

TEST_CASE("where only ports limit, other links bound nobody and stay") {
  const std::vector<Link> links{{1_GBps, {}, false}, {2_GBps, {}, true}, {3_GBps, {}, true}};
  CHECK(left({over({{0}, {1}, {2}})}, links, true) == Left{{0, 1}});
}
