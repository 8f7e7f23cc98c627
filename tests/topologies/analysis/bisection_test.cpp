#include <doctest/doctest.h>

#include "tests/topologies/graph/cluster_helpers.hpp"
#include "topologies/analysis/analysis.hpp"
#include "topologies/analysis/bisection_classes.hpp"
#include "topologies/builders/build_cluster.hpp"
#include "topologies/graph/link_overlay.hpp"
#include "topologies/routing/lower.hpp"

using namespace lockstep;

namespace {

/// The same cluster with another latency on every link of its nodes and to its switches, so that
/// nothing is merged; bandwidths are what they were.
Cluster all_apart(const Cluster& cluster) {
  std::vector<LinkState> states;
  for (LinkId id = 0; id < cluster.link_count(); ++id) {
    LinkFigures figures = cluster.link(id).figures;
    figures.latency += 1_ns;
    states.push_back({.id = id, .figures = figures, .failed = false, .delayed = true});
  }
  return cluster.with(LinkOverlay{std::move(states)});
}

Cluster tree(std::int64_t radix, std::int64_t levels, int hosts) {
  return build_cluster(call("fat_tree", {{"link", plain_link()},
                                         {"uplink", link_of(11_GBps, 1_us)},
                                         {"radix", radix},
                                         {"levels", levels}}),
                       std::nullopt, ranks(hosts));
}

}  // namespace

TEST_CASE("merging equal nodes and blocks changes no bisection") {
  const std::vector<Cluster> clusters{
      direct("star", 9),
      direct("star", 16),
      tree(4, 2, 8),
      tree(8, 2, 32),
      tree(8, 2, 27),
      tree(4, 3, 16),
      tree(4, 3, 13),
      build_cluster(hgx("dgx_h100"), rails(), nodes(2)),
      build_cluster(hgx("dgx_h100"), rails(), nodes(5)),
      direct("ring", 8),
  };
  for (const Cluster& cluster : clusters) {
    CAPTURE(cluster.ranks());
    const auto merged = bisection(cluster);
    Network network = lower(cluster, Endpoint{});
    CHECK(bisection(cluster, network)->up == merged->up);
    const auto apart = bisection(all_apart(cluster));
    REQUIRE((merged && apart));
    CHECK(merged->up == apart->up);
    CHECK(merged->down == apart->down);
    // A link of the first rank's that is narrower than it was merges nothing.
    network.links[0].bandwidth = Rate::bytes_per_second(1'000'000);
    CHECK(bisection(cluster, network)->least() <= merged->least());
  }
}

/// 8 leaves of 4 hosts and 4 spines: 4 leaves and 16 hosts in each half are one class each.
TEST_CASE("what is equal in a half of a tree is one class") {
  const BisectionClasses classes = bisection_classes(tree(8, 2, 32));
  CHECK(classes.half.size() == 2 + 2 + 4);
  CHECK(bisection_classes(all_apart(tree(8, 2, 32))).half.size() == 32 + 8 + 4);
}
