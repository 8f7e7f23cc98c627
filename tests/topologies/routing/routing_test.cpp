#include "topologies/routing/routing.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <map>
#include <set>
#include <thread>

#include "tests/topologies/graph/cluster_helpers.hpp"
#include "topologies/builders/build_cluster.hpp"

namespace lockstep {
namespace {

std::shared_ptr<const Router> shortest(const Cluster& cluster) {
  return make_router(cluster, RoutePolicy::shortest);
}

/// Weight that leaves every vertex on the way minus what enters it: zero, but for the ends. Holds
/// where no share had to be rounded.
std::map<VertexId, std::int64_t> divergence(const Cluster& cluster, const Route& route) {
  std::map<VertexId, std::int64_t> net;
  for (const Hop& hop : route.hops) {
    const ClusterLink link = cluster.link(hop.link);
    net[link.from] += static_cast<std::int64_t>(hop.weight);
    net[link.to] -= static_cast<std::int64_t>(hop.weight);
  }
  std::erase_if(net, [](const auto& entry) { return entry.second == 0; });
  return net;
}

std::map<LinkId, Weight> shares(const Route& route) {
  std::map<LinkId, Weight> found;
  for (const Hop& hop : route.hops) found[hop.link] += hop.weight;
  return found;
}

void check_conserved(const Cluster& cluster, int from, int to) {
  const Route route = route_of(*make_router(cluster), from, to);
  REQUIRE(route.paths > 0);
  const auto unit = static_cast<std::int64_t>(kWeightUnit);
  const std::map<VertexId, std::int64_t> ends{
      {cluster.vertex_of(static_cast<EndpointId>(from)), unit},
      {cluster.vertex_of(static_cast<EndpointId>(to)), -unit}};
  CHECK(divergence(cluster, route) == ends);
}

TEST_CASE("a route from an end point to itself is empty") {
  const Cluster ring = direct("ring", 5);
  const Route route = route_of(*make_router(ring), 3, 3);
  CHECK(route.hops.empty());
  CHECK(route.latency == 0_us);
  CHECK(route.paths == 1);
}

TEST_CASE("ring: the shorter direction, at half the length both, or clockwise on one path") {
  const Cluster ring = direct("ring", 8);
  CHECK(walk(ring, route_of(*make_router(ring), 6, 1)) == "gpu6 gpu7 gpu0 gpu1");
  CHECK(walk(ring, route_of(*make_router(ring), 1, 7)) == "gpu1 gpu0 gpu7");
  const Route split = route_of(*make_router(ring), 0, 4);
  CHECK(split.paths == 2);
  CHECK(split.hops.size() == 8);  // four links each way
  CHECK(split.hops[0].weight == kWeightUnit / 2);
  CHECK(split.latency == 4_us);  // 4 links of 1 us, not the sum over both ways
  CHECK(path_length(split) == 4);
  CHECK(walk(ring, route_of(*shortest(ring), 0, 4)) == "gpu0 gpu1 gpu2 gpu3 gpu4");
  CHECK(walk(ring, route_of(*shortest(ring), 5, 1)) == "gpu5 gpu6 gpu7 gpu0 gpu1");
}

TEST_CASE("torus and hypercube: as many paths as orders of the steps") {
  const Cluster torus = build_cluster(
      call("torus_2d", {{"shape", std::vector<std::int64_t>{5, 5}}, {"link", plain_link()}}),
      std::nullopt, {});
  // From (0,0) to (2,1): 3 steps, one of them along the second side: 3 orders.
  const Route route = route_of(*make_router(torus), 0, 11);
  CHECK(route.paths == 3);
  CHECK(path_length(route) == 3);
  check_conserved(torus, 0, 11);

  const Cluster cube = direct("hypercube", 16);
  const Route across = route_of(*make_router(cube), 0, 15);
  CHECK(across.paths == 24);           // 4! orders of the four bits
  CHECK(across.hops.size() == 4 * 8);  // 4 levels: C(4,d)*(4-d) = 4, 12, 12, 4 links
  check_conserved(cube, 0, 15);
}

TEST_CASE("shares that are no whole number are rounded up") {
  // Two leaves of 17 hosts, 17 cables from each to one spine: 184504320 / 17 = 10853195.3.
  const Cluster tree =
      build_cluster(call("fat_tree", {{"link", plain_link()}, {"radix", std::int64_t{34}}}),
                    std::nullopt, ranks(34));
  const Route route = route_of(*make_router(tree), 0, 33);
  CHECK(route.paths == 17 * 17);
  CHECK(route.hops[1].weight == 10853196);
}

TEST_CASE("paths beyond counting still share the links") {
  const Cluster torus = build_cluster(
      call("torus_3d", {{"shape", std::vector<std::int64_t>{64, 64, 64}}, {"link", plain_link()}}),
      std::nullopt, {});
  // From the origin to (31,31,31): 93!/(31!)^3 paths, about 10^42, beyond 2^98: counted in doubles.
  const Route far = route_of(*make_router(torus), 0, (31 * 64 + 31) * 64 + 31);
  CHECK(path_length(far) == 93);
  CHECK(far.paths == INT64_MAX);
  Weight first = 0;
  for (std::size_t i = 0; i < 3; ++i) first += far.hops[i].weight;  // a third on each side
  CHECK(first >= kWeightUnit);
  CHECK(first <= kWeightUnit + 3);
}

TEST_CASE("star: up and down, whichever hosts") {
  const Cluster star =
      build_cluster(call("star", {{"link", link_of(400_Gbps, 1_us)}}), std::nullopt, {{}, 4, 2});
  const auto router = make_router(star);
  CHECK(walk(star, route_of(*router, 0, 3)) == "gpu0 leaf0 gpu3");
  CHECK(route_of(*router, 0, 3).latency == 2_us);
  CHECK(star.auxiliary_ranks() == 2);
  CHECK(walk(star, route_of(*router, 1, 5)) == "gpu1 leaf0 host1");
}

TEST_CASE("DGX-1: NVLink where there is one, else PCIe and the sockets, never through a GPU") {
  const Cluster box = build_cluster(hgx("dgx1"), std::nullopt, nodes(1));
  const auto router = make_router(box);
  CHECK(walk(box, route_of(*router, 0, 4)) == "node0/gpu0 node0/gpu4");
  CHECK(walk(box, route_of(*router, 0, 5)) ==
        "node0/gpu0 node0/pcie_switch0 node0/cpu0 node0/cpu1 node0/pcie_switch2 node0/gpu5");
}

TEST_CASE("rail first: over NVLink to the receiver's rail, out of its NIC, straight in") {
  const Cluster cluster = build_cluster(hgx("dgx_h100"), rails(), nodes(4));
  const auto router = make_router(cluster);
  const Route same_rail = route_of(*router, 3, 8 + 3);
  CHECK(walk(cluster, same_rail) ==
        "node0/gpu3 node0/pcie_switch3 node0/nic3 rail3/leaf0 node1/nic3 node1/pcie_switch3 "
        "node1/gpu3");
  CHECK(same_rail.latency == 4_us);  // 4 PCIe links of 500 ns, 2 network links of 1 us
  CHECK(walk(cluster, route_of(*router, 0, 16 + 5)) ==
        "node0/gpu0 node0/nvswitch0 node0/gpu5 node0/pcie_switch5 node0/nic5 rail5/leaf0 "
        "node2/nic5 node2/pcie_switch5 node2/gpu5");
  CHECK(walk(cluster, route_of(*router, 9, 14)) == "node1/gpu1 node1/nvswitch0 node1/gpu6");
}

TEST_CASE("rail first to and from a CPU's memory: the GPU's own rail") {
  const Cluster cluster = build_cluster(hgx("dgx_h100"), rails(), nodes(2));
  const auto router = make_router(cluster);
  REQUIRE(cluster.ranks() == 16);
  REQUIRE(cluster.auxiliary_ranks() == 4);
  CHECK(walk(cluster, route_of(*router, 2, 16 + 2)) ==  // helper 2: socket 0 of node 1
        "node0/gpu2 node0/pcie_switch2 node0/nic2 rail2/leaf0 node1/nic2 node1/pcie_switch2 "
        "node1/cpu0");
  CHECK(walk(cluster, route_of(*router, 16 + 2, 2)) ==
        "node1/cpu0 node1/pcie_switch2 node1/nic2 rail2/leaf0 node0/nic2 node0/pcie_switch2 "
        "node0/gpu2");
}

TEST_CASE("NVL72: the GPU in the same tray that stands on the receiver's rail") {
  const Cluster racks = build_cluster(call("nvl72", {{"nvlink", link_of(900_GBps, 300_ns)},
                                                     {"c2c", link_of(225_GBps, 300_ns)},
                                                     {"pcie", link_of(64_GBps, 500_ns)}}),
                                      rails(), nodes(2));
  const auto router = make_router(racks);
  // GPU 5 is in tray 1, place 1; rank 72 + 71 in tray 17, place 3: out by tray 1, place 3 (GPU 7).
  CHECK(walk(racks, route_of(*router, 5, 72 + 71)) ==
        "node0/gpu5 node0/nvswitch0 node0/gpu7 node0/cpu3 node0/nic7 rail3/leaf0 node1/nic71 "
        "node1/cpu35 node1/gpu71");
}

TEST_CASE("a fat tree splits over its spines, hashing takes one of them, always the same") {
  const Cluster tree =
      build_cluster(call("fat_tree", {{"link", plain_link()}, {"radix", std::int64_t{8}}}),
                    std::nullopt, ranks(32));
  const Route split = route_of(*make_router(tree), 0, 31);
  CHECK(split.paths == 4);         // leaf ports up: 4, one to each of 4 spines
  CHECK(split.hops.size() == 10);  // 1 + 4 + 4 + 1
  CHECK(split.hops[0].weight == kWeightUnit);
  CHECK(split.hops[1].weight == kWeightUnit / 4);
  CHECK(split.hops[9].weight == kWeightUnit);
  check_conserved(tree, 0, 31);

  std::set<std::string> ways;
  for (std::uint64_t seed = 0; seed < 64; ++seed) {
    const Route one = route_of(*make_router(tree, RoutePolicy::ecmp, seed), 0, 31);
    CHECK(one.paths == 1);
    CHECK(one.hops.size() == 4);
    const std::string way = walk(tree, one);
    CHECK(way == walk(tree, route_of(*make_router(tree, RoutePolicy::ecmp, seed), 0, 31)));
    ways.insert(way);
  }
  CHECK(ways.size() == 4);
  CHECK(walk(tree, route_of(*shortest(tree), 0, 31)) == "gpu0 leaf0 spine0 leaf7 gpu31");
}

TEST_CASE("three levels: k = 4 has 4 routes between pods") {
  const Cluster tree =
      build_cluster(call("fat_tree", {{"link", plain_link()}, {"radix", std::int64_t{4}}}),
                    std::nullopt, ranks(16));
  const Route far = route_of(*make_router(tree), 0, 15);
  CHECK(far.paths == 4);  // (k/2)^2 core switches, one way over each
  CHECK(path_length(far) == 6);
  check_conserved(tree, 0, 15);
  CHECK(route_of(*make_router(tree), 0, 2).paths == 2);  // within the pod: over either spine
  CHECK(walk(tree, route_of(*make_router(tree), 0, 1)) == "gpu0 leaf0 gpu1");
}

/// Every link leads on from the one before, and only what forwards is passed.
void check_walkable(const Cluster& cluster, const Route& route, int from, int to) {
  VertexId at = cluster.vertex_of(static_cast<EndpointId>(from));
  const VertexId end = cluster.vertex_of(static_cast<EndpointId>(to));
  for (const Hop& hop : route.hops) {
    const ClusterLink link = cluster.link(hop.link);
    REQUIRE(link.from == at);
    at = link.to;
    const Vertex passed = cluster.vertex(at);
    const bool relay = passed.kind == VertexKind::gpu && link.kind == LinkKind::nvlink;
    CHECK((at == end || passed.forwards || relay));
  }
  CHECK(at == end);
}

TEST_CASE("all single paths of all kinds of nodes on all kinds of fabrics hold together") {
  const std::vector<BuilderCall> boxes{hgx("dgx1"), hgx("dgx_a100"), hgx("dgx_h100"), hgx("summit"),
                                       call("pcie_box", {{"gpus", std::int64_t{4}},
                                                         {"pcie", link_of(32_GBps, 500_ns)},
                                                         {"cpu", link_of(48_GBps, 600_ns)}})};
  const std::vector<BuilderCall> fabrics{
      rails(), call("star", {{"link", plain_link()}}),
      call("fat_tree", {{"link", plain_link()}, {"radix", std::int64_t{4}}}),
      call("dragonfly", {{"link", plain_link()},
                         {"hosts_per_router", std::int64_t{2}},
                         {"routers_per_group", std::int64_t{4}},
                         {"global_ports", std::int64_t{2}}})};
  for (const auto& box : boxes) {
    for (const auto& fabric : fabrics) {
      if (box.builder->name != "pcie_box" && fabric.builder->name == "fat_tree") continue;
      CAPTURE(box.builder->name);
      CAPTURE(fabric.builder->name);
      const Cluster cluster = build_cluster(box, fabric, nodes(3));
      const auto hashed = make_router(cluster, RoutePolicy::ecmp, 7);
      const auto single = shortest(cluster);
      for (int from = 0; from < cluster.endpoints(); ++from) {
        for (int to = 0; to < cluster.endpoints(); ++to) {
          check_walkable(cluster, route_of(*hashed, from, to), from, to);
          check_walkable(cluster, route_of(*single, from, to), from, to);
        }
      }
    }
  }
}

/// Nobody's structure used: the best paths of the whole cluster as one graph.
TEST_CASE("routes put together from segments are those of a search through everything") {
  const std::vector<Cluster> clusters{
      build_cluster(hgx("dgx1"), call("star", {{"link", plain_link()}}), nodes(2)),
      build_cluster(hgx("summit"),
                    call("fat_tree", {{"link", plain_link()}, {"radix", std::int64_t{4}}}),
                    nodes(4)),
      build_cluster(call("fat_tree", {{"link", plain_link()}, {"radix", std::int64_t{4}}}),
                    std::nullopt, ranks(16))};
  for (const Cluster& cluster : clusters) {
    const auto router = make_router(cluster);
    const Cluster whole = flattened(cluster);
    const auto searched = make_router(whole);
    for (int from = 0; from < cluster.ranks(); ++from) {
      for (int to = 0; to < cluster.ranks(); ++to) {
        const Route ours = route_of(*router, from, to);
        const Route theirs = route_of(*searched, from, to);
        CHECK(ours.latency == theirs.latency);
        CHECK(ours.paths == theirs.paths);
        CHECK(shares(ours) == shares(theirs));
      }
    }
  }
}

TEST_CASE("many threads at once get the answers of one") {
  const Cluster tree =
      build_cluster(call("fat_tree", {{"link", plain_link()}, {"radix", std::int64_t{8}}}),
                    std::nullopt, ranks(128));
  const auto expected = make_router(tree);
  const auto shared = make_router(tree);
  std::atomic<int> wrong = 0;
  const auto ask = [&](int first) {
    for (int i = 0; i < 128 * 128; ++i) {
      const int pair = (i + first * 4099) % (128 * 128);
      const Route ours = route_of(*shared, pair / 128, pair % 128);
      if (shares(ours) != shares(route_of(*expected, pair / 128, pair % 128))) ++wrong;
    }
  };
  std::vector<std::thread> threads;
  for (int first = 0; first < 4; ++first) threads.emplace_back(ask, first);
  for (auto& thread : threads) thread.join();
  CHECK(wrong == 0);
}

}  // namespace
}  // namespace lockstep
