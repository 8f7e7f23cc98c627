#include "strategies/collectives/placement/placement.hpp"

#include <doctest/doctest.h>

#include "tests/topologies/graph/cluster_helpers.hpp"
#include "topologies/builders/build_cluster.hpp"
#include "topologies/routing/lower.hpp"

namespace lockstep {
namespace {

using Ranks = std::vector<EndpointId>;

const Cluster& four_nodes() {
  static const Cluster cluster = build_cluster(hgx("dgx_h100"), rails(), nodes(4));
  return cluster;
}

}  // namespace

TEST_CASE("runs of members on one node are what an algorithm takes for nodes") {
  const MemberPlacement all = placement_of(four_nodes());
  CHECK(all.ranks == 32);
  CHECK(all.nodes == 4);
  CHECK(all.per_node() == 8);
  CHECK(all.node_further == 8);
  const MemberPlacement rail = placement_of(four_nodes(), Ranks{3, 11, 19, 27});
  CHECK(rail.nodes == 4);
  CHECK(rail.per_node() == 1);
  const MemberPlacement half = placement_of(four_nodes(), Ranks{4, 5, 6, 7, 12, 13, 14, 15});
  CHECK(half.nodes == 2);
  CHECK(half.per_node() == 4);
  CHECK(half.fullest == Ranks{4, 5, 6, 7});
  CHECK(half.next == Ranks{12, 13, 14, 15});
  const MemberPlacement inside = placement_of(four_nodes(), Ranks{9, 11});
  CHECK(inside.nodes == 1);
  CHECK(inside.per_node() == 2);
  CHECK(inside.next.empty());
}

TEST_CASE("members that share nodes unevenly are nodes of their own sizes") {
  const MemberPlacement uneven = placement_of(four_nodes(), Ranks{0, 8, 9, 10});
  CHECK(uneven.nodes == 2);
  CHECK_FALSE(uneven.equal_nodes);
  CHECK(uneven.per_node() == 1);
  CHECK(uneven.most_per_node == 3);
  CHECK(uneven.fullest == Ranks{8, 9, 10});
  const RankLayout layout = layout_of(uneven);
  CHECK(layout.per_node == 1);
  CHECK(layout.node_sizes == std::vector<int>{1, 3});
  CHECK(layout.unequal_nodes() == "nodes have 1 to 3 ranks");
  CHECK_FALSE(layout_of(placement_of(four_nodes())).unequal_nodes());
}

TEST_CASE("a hop goes to the next node, and a split route is as wide as its parts together") {
  // Two paths of 25 GB/s each carry half of a transfer: 50 GB/s; a message's overhead is paid too.
  const Cluster torus = build_cluster(
      call("torus_2d", {{"shape", std::vector<std::int64_t>{4, 4}}, {"link", plain_link()}}),
      std::nullopt, {});
  Endpoint endpoint;
  endpoint.message_overhead = 3_us;
  const Network network = lower(torus, endpoint);
  const auto corner = hop_of(network, placement_of(torus, Ranks{0, 5}));
  REQUIRE(corner.has_value());
  CHECK(corner->alpha == 5_us);  // two links of 1 us
  CHECK(corner->beta == 50_GBps);
  CHECK_FALSE(hop_of(network, placement_of(torus, Ranks{7})).has_value());
}

}  // namespace lockstep
