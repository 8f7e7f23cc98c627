#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>

#include "tests/topologies/graph/cluster_helpers.hpp"
#include "topologies/analysis/analysis.hpp"
#include "topologies/builders/build_cluster.hpp"
#include "topologies/builders/registry.hpp"
#include "topologies/files/cluster_reader.hpp"

namespace lockstep {
namespace {

std::string error_of(const BuilderCall& topology, const std::optional<BuilderCall>& fabric,
                     const ClusterSize& size) {
  try {
    (void)build_cluster(topology, fabric, size);
  } catch (const BuildError& error) {
    return error.parameter() + ": " + error.what();
  }
  return "built";
}

/// Links that leave the vertex of an end point, by kind.
std::size_t degree(const Cluster& cluster, int endpoint, LinkKind kind) {
  std::size_t count = 0;
  for (LinkId id = 0; id < cluster.link_count(); ++id) {
    const ClusterLink link = cluster.link(id);
    const bool leaves = link.from == cluster.vertex_of(static_cast<EndpointId>(endpoint));
    count += leaves && link.kind == kind ? 1U : 0U;
  }
  return count;
}

double out_bandwidth(const Cluster& cluster, int endpoint, LinkKind kind) {
  double sum = 0;
  for (LinkId id = 0; id < cluster.link_count(); ++id) {
    const ClusterLink link = cluster.link(id);
    const bool leaves = link.from == cluster.vertex_of(static_cast<EndpointId>(endpoint));
    if (leaves && link.kind == kind) sum += link.figures.bandwidth.bytes_per_second();
  }
  return sum;
}

TEST_CASE("the table names every builder once, with words and an example that reads") {
  std::map<std::string_view, int> names;
  for (const Builder& row : topology_builders()) {
    CAPTURE(row.name);
    CHECK(++names[row.name] == 1);
    CHECK(find_topology_builder(row.name) == &row);
    CHECK(!row.summary.empty());
    CHECK(!row.source.empty());
    const JsonDocument example = parse_json(row.example, "example");
    const BuilderCall call = read_document(example, [](ObjectReader& in) {
      return read_builder_call(in, "topology", [](const Builder&) { return true; });
    });
    CHECK(call.builder == &row);
  }
  CHECK(find_topology_builder("no such") == nullptr);
}

TEST_CASE("every file among the builders has a row in the table") {
  const std::filesystem::path folder = LOCKSTEP_SOURCE_DIR "/topologies/builders";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().stem().string();
    const bool shared = name == "common" || name == "fat_tree_plane" || name == "builders" ||
                        name == "registry" || name == "build_cluster" || name == "README";
    if (shared) continue;
    CAPTURE(name);
    const auto& table = topology_builders();
    // torus.cpp has two rows: torus_2d and torus_3d
    CHECK(std::any_of(table.begin(), table.end(), [&name](const Builder& row) {
      return row.name.substr(0, name.size()) == name;
    }));
  }
}

TEST_CASE("ring: clockwise links first, two GPUs share a cable, one has none") {
  const Cluster ring = direct("ring", 5);
  CHECK(ring.link_count() == 10);
  CHECK(ring.nodes() == 5);
  CHECK(ring.gpus_per_node() == 1);
  for (LinkId r = 0; r < 5; ++r) CHECK(ring.link(r).to == (ring.link(r).from + 1) % 5);
  for (LinkId r = 5; r < 10; ++r) CHECK(ring.link(r).from == (ring.link(r).to + 1) % 5);
  CHECK(direct("ring", 2).link_count() == 2);
  CHECK(direct("ring", 1).link_count() == 0);
}

TEST_CASE("full mesh n(n-1) links, hypercube n log n, torus two per side and GPU") {
  CHECK(direct("full_mesh", 7).link_count() == 42);
  CHECK(direct("hypercube", 16).link_count() == 64);
  CHECK(degree(direct("hypercube", 16), 9, LinkKind::network) == 4);
  const auto torus = [](const char* name, std::vector<std::int64_t> shape) {
    return build_cluster(call(name, {{"shape", shape}, {"link", plain_link()}}), std::nullopt, {});
  };
  CHECK(torus("torus_2d", {4, 3}).link_count() == 12 * 4);
  CHECK(torus("torus_3d", {3, 4, 5}).link_count() == 60 * 6);
  CHECK(torus("torus_3d", {3, 2, 1}).link_count() == 6 * 3);  // a side of two has one cable
}

TEST_CASE("DGX-1: six NVLinks per GPU, to four others, and the published counts") {
  const Cluster box = build_cluster(hgx("dgx1"), std::nullopt, nodes(1));
  const Census census = take_census(box);
  CHECK(census.count(VertexKind::gpu) == 8);
  CHECK(census.count(VertexKind::pcie_switch) == 4);
  CHECK(census.count(VertexKind::cpu) == 2);
  CHECK(census.count(VertexKind::nic) == 4);
  for (int gpu = 0; gpu < 8; ++gpu) {
    CHECK(degree(box, gpu, LinkKind::nvlink) == 4);
    CHECK(out_bandwidth(box, gpu, LinkKind::nvlink) ==
          6 * 450e9);  // the helper's figure per NVLink
  }
}

TEST_CASE("DGX A100 and H100: all NVLinks of a GPU to one NVSwitch vertex, a NIC per GPU") {
  for (const char* name : {"dgx_a100", "dgx_h100"}) {
    const Cluster box = build_cluster(hgx(name), std::nullopt, nodes(1));
    const Census census = take_census(box);
    CHECK(census.count(VertexKind::gpu) == 8);
    CHECK(census.count(VertexKind::nvswitch) == 1);
    CHECK(census.count(VertexKind::nic) == 8);
    CHECK(census.count(VertexKind::pcie_switch) == (std::string{name} == "dgx_a100" ? 4 : 8));
    CHECK(out_bandwidth(box, 3, LinkKind::nvlink) == 450e9);
    CHECK(box.auxiliary_ranks() == 2);
  }
}

TEST_CASE("Summit: NVLink to two GPUs and the CPU, two links each, two NIC ports") {
  const Cluster box = build_cluster(hgx("summit"), std::nullopt, nodes(1));
  for (int gpu = 0; gpu < 6; ++gpu) {
    CHECK(degree(box, gpu, LinkKind::nvlink) == 3);
    CHECK(out_bandwidth(box, gpu, LinkKind::nvlink) == 6 * 450e9);
  }
  CHECK(take_census(box).count(VertexKind::nic) == 2);
}

Cluster fat_tree(int radix, int hosts) {
  return build_cluster(call("fat_tree", {{"link", plain_link()}, {"radix", std::int64_t{radix}}}),
                       std::nullopt, ranks(hosts));
}

TEST_CASE("fat tree: the k-ary tree of Al-Fares et al. has k^3/4 hosts and 5k^2/4 switches") {
  for (const int k : {4, 8}) {
    const Census census = take_census(fat_tree(k, k * k * k / 4));
    const auto half = static_cast<std::size_t>(k) * static_cast<std::size_t>(k) / 2;
    CHECK(census.count(VertexKind::leaf_switch) == half);
    CHECK(census.count(VertexKind::spine_switch) == half);
    CHECK(census.count(VertexKind::core_switch) == half / 2);
  }
}

TEST_CASE("fat tree: levels as needed, spines as few as ports allow") {
  CHECK(take_census(fat_tree(8, 4)).count(VertexKind::spine_switch) == 0);
  CHECK(take_census(fat_tree(8, 8)).count(VertexKind::spine_switch) == 1);   // 2 leaves x 4 cables
  CHECK(take_census(fat_tree(8, 16)).count(VertexKind::spine_switch) == 2);  // 4 leaves x 4
  CHECK(take_census(fat_tree(8, 32)).count(VertexKind::core_switch) == 0);   // 8 leaves
  CHECK(take_census(fat_tree(8, 33)).count(VertexKind::core_switch) > 0);
}

TEST_CASE("rails: per rail 64 nodes a leaf, two levels up to 128 leaves, equal pods beyond") {
  const auto switches = [](int count) {
    const Census census = take_census(build_cluster(hgx("dgx_h100"), rails(), nodes(count)));
    return std::array{census.count(VertexKind::leaf_switch) / 8,
                      census.count(VertexKind::spine_switch) / 8,
                      census.count(VertexKind::core_switch) / 8};
  };
  CHECK(switches(64) == std::array<std::size_t, 3>{1, 0, 0});
  CHECK(switches(65) == std::array<std::size_t, 3>{2, 1, 0});      // 2 x 64 cables: one spine
  CHECK(switches(2000) == std::array<std::size_t, 3>{32, 16, 0});  // 32 x 64 / 128 ports
  // 129 leaves are too many for two levels: 3 pods of 43 leaves and 64 spines each; every spine has
  // 64 ports up, so that a group's 3 x 64 cables need two cores, and there are 64 groups.
  CHECK(switches(64 * 129) == std::array<std::size_t, 3>{129, 192, 128});
}

TEST_CASE("dragonfly: balanced, every router with p hosts, a-1 and h cables") {
  const Cluster fly = build_cluster(call("dragonfly", {{"link", plain_link()},
                                                       {"hosts_per_router", std::int64_t{2}},
                                                       {"routers_per_group", std::int64_t{4}},
                                                       {"global_ports", std::int64_t{2}}}),
                                    std::nullopt, ranks(72));
  CHECK(take_census(fly).count(VertexKind::leaf_switch) == 36);  // 9 groups of 4
  std::map<VertexId, int> degrees;
  for (LinkId id = 0; id < fly.link_count(); ++id) ++degrees[fly.link(id).from];
  for (VertexId v = 72; v < 108; ++v) CHECK(degrees[v] == 2 + 3 + 2);
  CHECK(diameter(fly, *make_router(fly)).hops == 5);  // up, local, global, local, down
}

/// 400 Gb/s in a site, 100 Gb/s and 4.9 ms between any two.
BuilderCall sites(std::int64_t count) {
  LinkFigures wan = plain_link();
  wan.bandwidth = Rate::bytes_per_second(12'500'000'000);
  wan.latency = 4900_us;
  return call("sites", {{"sites", count}, {"link", plain_link()}, {"wan", wan}});
}

TEST_CASE("sites: a fat tree each, every two joined by one WAN link between border routers") {
  const Cluster three = build_cluster(sites(3), std::nullopt, ranks(48));
  const Census census = take_census(three);
  CHECK(census.count(VertexKind::leaf_switch) == 3);  // 16 hosts a site, one leaf of 32 ports down
  CHECK(census.count(VertexKind::core_switch) == 3);
  // Cables: a host each, a leaf to its border router each, and three pairs of sites; both ways.
  CHECK(three.link_count() == 2 * (48 + 3 + 3));
  const auto router = make_router(three);
  const Duration cable = plain_link().latency;
  CHECK(route_of(*router, 0, 15).latency == cable + cable);
  CHECK(route_of(*router, 0, 16).hops.size() == 5);  // host, border, WAN, border, host
  CHECK(route_of(*router, 0, 47).latency == cable + cable + 4900_us + cable + cable);
  CHECK(three.vertex_name(three.link(static_cast<LinkId>(three.link_count() - 1)).from) == "core2");
}

TEST_CASE(
    "sites: larger ones have spines, each below the border router, and two sites halve at the "
    "WAN") {
  const Cluster two = build_cluster(sites(2), std::nullopt, ranks(256));
  const Census census = take_census(two);
  CHECK(census.count(VertexKind::leaf_switch) == 8);   // 128 hosts a site, 32 a leaf
  CHECK(census.count(VertexKind::spine_switch) == 4);  // 128 cables up of a site, 64 a spine
  CHECK(census.count(VertexKind::core_switch) == 2);
  const auto cut = bisection(two);
  REQUIRE(cut);
  CHECK(cut->up == 12.5e9);
}

TEST_CASE("bisection bandwidth of known graphs, in cables of 25 GB/s") {
  const auto cables = [](const Cluster& cluster) {
    const auto cut = bisection(cluster);
    CHECK(cut->is_even());
    return cut->up / 25e9;
  };
  CHECK(cables(direct("ring", 8)) == 2);
  CHECK(cables(direct("full_mesh", 8)) == 16);  // 4 x 4 pairs
  CHECK(cables(direct("hypercube", 16)) == 8);  // N/2
  CHECK(cables(fat_tree(4, 16)) == 8);          // full: every lower host at full rate
  CHECK(cables(fat_tree(8, 32)) == 16);
  const Cluster thin = build_cluster(call("fat_tree", {{"link", plain_link()},
                                                       {"radix", std::int64_t{24}},
                                                       {"hosts_per_leaf", std::int64_t{16}},
                                                       {"oversubscription", Ratio{2, 1}}}),
                                     std::nullopt, ranks(64));
  CHECK(cables(thin) == 16);  // half of 32
  const Cluster torus = build_cluster(
      call("torus_2d", {{"shape", std::vector<std::int64_t>{4, 4}}, {"link", plain_link()}}),
      std::nullopt, {});
  CHECK(cables(torus) == 8);  // cut across both closed rows of 4 columns: 2 * 4
  CHECK(!bisection(direct("ring", 1)));
}

TEST_CASE("diameter: half the ring, the cube's dimension, all pairs or a sample") {
  const auto of = [](const Cluster& cluster) { return diameter(cluster, *make_router(cluster)); };
  CHECK(of(direct("ring", 9)).hops == 4);
  CHECK(of(direct("ring", 9)).latency == 4_us);
  CHECK(of(direct("hypercube", 32)).hops == 5);
  CHECK(of(direct("hypercube", 32)).exact);
  const Diameter sampled = of(direct("hypercube", 1024));
  CHECK_FALSE(sampled.exact);
  CHECK(sampled.hops == 10);  // 0 and 1023, first and last, differ in every bit
}

TEST_CASE("the bottleneck of a split route counts only the share that each link carries") {
  const Cluster ring = direct("ring", 4);
  const Route both = route_of(*make_router(ring), 0, 2);
  CHECK(bottleneck(ring, both)->rate == 50_GBps);  // two ways of 25 GB/s
  CHECK(bottleneck(ring, route_of(*make_router(ring), 0, 1))->rate == 25_GBps);
  CHECK(!bottleneck(ring, Route{}));
}

TEST_CASE("nodes and ranks: what can be had, and one sentence on what cannot") {
  const auto box = hgx("dgx_h100");
  const Cluster three = build_cluster(box, std::nullopt, ranks(3));
  CHECK(three.ranks() == 3);
  CHECK(three.gpus_per_node() == 8);
  CHECK(three.auxiliary_ranks() == 2);
  CHECK(build_cluster(box, rails(), ranks(24)).nodes() == 3);
  CHECK(error_of(box, rails(), ranks(12)) ==
        "ranks: a node has 8 GPUs: expected 1 to 8, or a multiple such as 8 or 16, got 12");
  CHECK(error_of(box, rails(), {2, 24, 0}) == "ranks: 24 ranks are 3 nodes of 8 GPUs, not 2");
  CHECK(error_of(box, std::nullopt, nodes(2)) ==
        "nodes: this cluster has no fabric to join 2 nodes: 1 is possible");
  CHECK(error_of(box, rails(), nodes(0)) == "nodes: nodes: expected 1 to 1048576, got 0");
  CHECK(error_of(call("hypercube", {{"link", plain_link()}}), std::nullopt, ranks(12)) ==
        "ranks: a hypercube has a power of two of ranks, such as 8 or 16, got 12");
  CHECK(error_of(
            call("torus_2d", {{"shape", std::vector<std::int64_t>{4, 4}}, {"link", plain_link()}}),
            std::nullopt, ranks(10)) ==
        "ranks: a torus of shape 4x4 has 16 ranks, got 10; --set "
        "topology.shape=[2,5] gives 10 (in a scenario "
        "cluster.topology.shape)");
  CHECK(error_of(call("ring", {{"link", plain_link()}}), std::nullopt, {{}, 4, 1}) ==
        ": the topology \"ring\" has no room for extra hosts; single GPUs on a fabric (star, "
        "fat_tree, rail_optimised, dragonfly, sites) have");
  CHECK(error_of(call("ring", {{"link", plain_link()}}), rails(), ranks(4)) ==
        "fabric: the topology \"ring\" is whole without a fabric");
  CHECK(error_of(call("fat_tree", {{"link", plain_link()}, {"radix", std::int64_t{4}}}),
                 std::nullopt, ranks(64)) ==
        "radix: 16 switches below exceed the radix 4: too many hosts for switches of so many ports "
        "and this number of levels");
}

TEST_CASE("sites take equally many nodes") {
  CHECK(error_of(sites(3), std::nullopt, ranks(16)) ==
        "sites: 16 nodes cannot be divided among 3 sites equally");
}

TEST_CASE("names and ends of links, without a table of them") {
  const Cluster cluster = build_cluster(hgx("dgx_h100"), rails(), nodes(2));
  CHECK(cluster.link_name(0) == "node0/gpu0 -> node0/nvswitch0");
  CHECK(cluster.link_name(1) == "node0/nvswitch0 -> node0/gpu0");
  const auto last = static_cast<LinkId>(cluster.link_count() - 1);
  CHECK(cluster.link_name(last) == "rail7/leaf0 -> node1/nic7");
  CHECK(cluster.vertex(cluster.link(last).from).rail == 7);
}

}  // namespace
}  // namespace lockstep
