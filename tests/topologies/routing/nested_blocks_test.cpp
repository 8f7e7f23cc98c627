#include "topologies/blocks/nested_blocks.hpp"

#include <doctest/doctest.h>

#include <map>

#include "tests/topologies/graph/cluster_helpers.hpp"

/// Blocks of nodes in blocks of nodes, against the routes themselves: the image of a route under an
/// exclusive or of blocks must be the route between the images of its ends.
namespace lockstep {
namespace {

using Shares = std::map<LinkId, Weight>;

Shares shares(const Route& route) {
  Shares out;
  for (const Hop& hop : route.hops) out[hop.link] += hop.weight;
  return out;
}

struct Moved {
  const BlockRouter& router;
  std::uint32_t length;

  [[nodiscard]] int rank(int rank, std::uint32_t move) const {
    const auto block = static_cast<std::uint32_t>(rank) / length;
    return static_cast<int>((block ^ move) * length + static_cast<std::uint32_t>(rank) % length);
  }
  [[nodiscard]] LinkId link(LinkId link, std::uint32_t move) const {
    BlockLink place = router.exchanged_link(link, length);
    // A move maps groups of blocks to groups: the first block's image need not be the first.
    place.block = (place.block ^ move) / place.shared_by * place.shared_by;
    return router.exchanged_link_at(place, length);
  }
};

/// All pairs of the first `ranks` ranks under all moves of blocks of `length` ranks. Returns how
/// many links that blocks have together were crossed.
int check_moves(const Cluster& cluster, std::uint32_t length, std::uint32_t ranks) {
  const auto router = make_router(cluster);
  const auto* blocks = dynamic_cast<const BlockRouter*>(router.get());
  REQUIRE(blocks != nullptr);
  REQUIRE(blocks->smallest_block() != 0);
  REQUIRE(length % blocks->smallest_block() == 0);
  REQUIRE(blocks->may_exchange(length, ranks / length));
  const Moved moved{*blocks, length};
  int together = 0;
  for (int from = 0; from < static_cast<int>(length); ++from) {
    for (int to = 0; to < static_cast<int>(ranks); ++to) {
      const Route route = route_of(*router, from, to);
      for (std::uint32_t move = 1; move < ranks / length; ++move) {
        Shares image;
        for (const Hop& hop : route.hops) {
          image[moved.link(hop.link, move)] += hop.weight;
          if (blocks->exchanged_link(hop.link, length).shared_by > 1) ++together;
        }
        const Route other = route_of(*router, moved.rank(from, move), moved.rank(to, move));
        REQUIRE(image == shares(other));
        REQUIRE(route.latency == other.latency);
      }
    }
  }
  return together;
}

/// Three levels of switches of radix 4: two nodes below a leaf, two leaves below its spines.
Cluster three_levels(int count) {
  return build_cluster(
      call("fat_tree",
           {{"link", plain_link()}, {"radix", std::int64_t{4}}, {"levels", std::int64_t{3}}}),
      std::nullopt, ranks(count));
}

TEST_CASE("routes of a fat tree are moved by exclusive or of single GPUs and of blocks of them") {
  const Cluster tree = three_levels(16);
  CHECK(check_moves(tree, 1, 16) > 0);
  CHECK(check_moves(tree, 2, 16) > 0);
  CHECK(check_moves(tree, 4, 16) == 0);
  CHECK(check_moves(tree, 1, 8) > 0);
}

TEST_CASE("routes over rails are moved by exclusive or of nodes") {
  for (const std::int64_t radix : {4, 8}) {
    CAPTURE(radix);
    const Cluster cluster = build_cluster(
        hgx("dgx_h100"),
        call("rail_optimised", {{"link", link_of(50_GBps, 1_us)}, {"radix", radix}}), nodes(8));
    CHECK(check_moves(cluster, 8, 64) > 0);
    CHECK((check_moves(cluster, 16, 64) > 0) == (radix == 8));
  }
}

TEST_CASE("below one switch no blocks have links together") {
  const Cluster star =
      build_cluster(call("star", {{"link", plain_link()}}), std::nullopt, ranks(8));
  CHECK(check_moves(star, 1, 8) == 0);
}

/// Three leaves of a pod: node 5 is below the second leaf, 5 XOR 4 below the first, 3 XOR 4 = 7
/// below the third.
TEST_CASE("groups that are no power of two are not moved by exclusive or") {
  const Cluster tree = build_cluster(
      call("fat_tree",
           {{"link", plain_link()}, {"radix", std::int64_t{6}}, {"levels", std::int64_t{3}}}),
      std::nullopt, ranks(54));
  const auto router = make_router(tree);
  const auto* blocks = dynamic_cast<const BlockRouter*>(router.get());
  REQUIRE(blocks != nullptr);
  CHECK_FALSE(blocks->may_exchange(1, 32));
  CHECK_FALSE(blocks->may_exchange(1, 4));
  CHECK(blocks->may_exchange(1, 2));
}

/// Routers of a dragonfly are cabled to each other, each in its own way.
TEST_CASE("a fabric whose nodes are not alike has no smallest blocks") {
  const Cluster fly = build_cluster(call("dragonfly", {{"link", plain_link()},
                                                       {"hosts_per_router", std::int64_t{2}},
                                                       {"routers_per_group", std::int64_t{4}},
                                                       {"global_ports", std::int64_t{2}}}),
                                    std::nullopt, ranks(72));
  const auto router = make_router(fly);
  const auto* blocks = dynamic_cast<const BlockRouter*>(router.get());
  REQUIRE(blocks != nullptr);
  CHECK(blocks->smallest_block() == 0);
}

}  // namespace
}  // namespace lockstep
