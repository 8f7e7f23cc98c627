#include <doctest/doctest.h>

#include <array>
#include <sstream>
#include <string>

#include "tests/topologies/graph/cluster_helpers.hpp"
#include "topologies/analysis/analysis.hpp"
#include "topologies/analysis/export.hpp"
#include "topologies/builders/build_cluster.hpp"
#include "topologies/failures/link_changes.hpp"
#include "topologies/graph/nodes.hpp"
#include "topologies/graph/scaled_links.hpp"
#include "topologies/routing/lower.hpp"

/// NVL72 racks of which some have one tray less. Expectations come from equal racks of the larger
/// size, whose ids they share, and from the same racks written out as one graph.
namespace lockstep {
namespace {

BuilderCall rack(std::int64_t gpus = 0) {
  BuilderCall made = call("nvl72", {{"nvlink", link_of(900_GBps, 300_ns)},
                                    {"c2c", link_of(225_GBps, 400_ns)},
                                    {"pcie", link_of(64_GBps, 500_ns)}});
  if (gpus != 0) made.parameters.set("gpus", gpus);
  return made;
}

Cluster racks(int gpus) {
  return build_cluster(rack(), rails(), ranks(gpus));
}

std::string sizes_of(const Cluster& cluster) {
  std::string out;
  for (int node = 0; node < cluster.nodes(); ++node)
    out += (node == 0 ? "" : " ") + std::to_string(ranks_of_node(cluster, node));
  return out;
}

std::string error_of(const ClusterSize& size) {
  try {
    (void)build_cluster(rack(), rails(), size);
  } catch (const BuildError& error) {
    return error.what();
  }
  return "built";
}

LinkChange failed(const std::string& links) {
  LinkChange change;
  change.links = links;
  change.failed = true;
  return change;
}

bool same(const Route& a, const Route& b) {
  return a.latency == b.latency && a.paths == b.paths &&
         std::equal(
             a.hops.begin(), a.hops.end(), b.hops.begin(), b.hops.end(),
             [](const Hop& x, const Hop& y) { return x.link == y.link && x.weight == y.weight; });
}

TEST_CASE("trays are spread as evenly as possible over the fewest racks") {
  // 19 trays of 4 are 10 + 9; 37 are 13 + 12 + 12; 249 are 11 x 18 + 3 x 17.
  CHECK(sizes_of(racks(76)) == "40 36");
  CHECK(sizes_of(racks(148)) == "52 48 48");
  CHECK(sizes_of(racks(996)) == "72 72 72 72 72 72 72 72 72 72 72 68 68 68");
  // Equal where less than twice the fewest racks can be: 21 trays are 3 x 7, 50 are 5 x 10.
  CHECK(sizes_of(racks(84)) == "28 28 28");
  CHECK(sizes_of(racks(200)) == "40 40 40 40 40");
  CHECK(racks(76).gpus_per_node() == 4);
  CHECK(node_sizes_text(racks(76)) == "36 to 40");
  CHECK(error_of(ranks(78)) ==
        "racks have whole trays of 4 GPUs: expected 1 to 72, or a multiple of 4 such as 76 or 80, "
        "got 78");
  ClusterSize size = ranks(76);
  size.nodes = 3;
  CHECK(error_of(size) == "76 ranks are 2 nodes of up to 40 GPUs, not 3");
}

TEST_CASE("ranks, CPUs and NICs of unequal racks are numbered rack by rack") {
  const Cluster cluster = racks(76);
  CHECK(cluster.auxiliary_ranks() == 38);
  const auto name = [&](int endpoint) {
    return cluster.vertex_name(cluster.vertex_of(static_cast<EndpointId>(endpoint)));
  };
  CHECK(name(39) == "node0/gpu39");
  CHECK(name(40) == "node1/gpu0");
  CHECK(name(75) == "node1/gpu35");
  CHECK(name(76) == "node0/cpu0");
  CHECK(name(76 + 19) == "node0/cpu19");
  CHECK(name(76 + 20) == "node1/cpu0");
  CHECK(name(76 + 37) == "node1/cpu17");
  CHECK(node_of(cluster, 39) == 0);
  CHECK(node_of(cluster, 40) == 1);
}

TEST_CASE("a census of unequal racks counts what is there, as of one graph") {
  for (const int gpus : {76, 148}) {
    const Cluster cluster = racks(gpus);
    const Census census = take_census(cluster);
    const auto all = static_cast<std::size_t>(gpus);
    CHECK(census.count(VertexKind::gpu) == all);
    CHECK(census.count(VertexKind::nic) == all);
    CHECK(census.count(VertexKind::cpu) == all / 2);
    CHECK(census.count(VertexKind::nvswitch) == static_cast<std::size_t>(cluster.nodes()));
    CHECK(census.count(LinkKind::nvlink) == 2 * all);
    CHECK(census.count(LinkKind::network) == 2 * all);  // one leaf per rail
    const Census whole = take_census(flattened(cluster));
    CHECK(census.vertices == whole.vertices);
    CHECK(census.links == whole.links);
  }
}

TEST_CASE("routes of unequal racks are those of equal ones of the larger size") {
  const Cluster cluster = racks(76);
  const Cluster larger = build_cluster(rack(40), rails(), nodes(2));
  REQUIRE(cluster.link_count() == larger.link_count());
  const auto ours = make_router(cluster);
  const auto theirs = make_router(larger);
  // CPUs stand behind the ranks: 76 + 37 is the last of node1, there 80 + 37.
  const auto there = [](int endpoint) { return endpoint < 76 ? endpoint : endpoint + 4; };
  bool equal = true;
  bool absent = false;
  for (int from = 0; from < cluster.endpoints(); ++from) {
    for (int to = 0; to < cluster.endpoints(); ++to) {
      const Route route = route_of(*ours, from, to);
      equal = equal && same(route, route_of(*theirs, there(from), there(to)));
      for (const Hop& hop : route.hops) absent = absent || is_absent_link(cluster, hop.link);
    }
  }
  CHECK(equal);
  CHECK_FALSE(absent);
}

/// Between racks the search through everything also takes the CPU's other NIC, which is as near;
/// the ways are as long.
TEST_CASE("routes of unequal racks are as long as those of a search through one graph") {
  const Cluster cluster = racks(148);
  const Cluster whole = flattened(cluster);
  REQUIRE(whole.ranks() == 148);
  REQUIRE(sizes_of(whole) == sizes_of(cluster));
  const auto ours = make_router(cluster);
  const auto searched = make_router(whole);
  std::string different;
  for (int from = 0; from < 148; ++from) {
    for (int to = 0; to < 148; ++to) {
      const bool near = node_of(cluster, static_cast<EndpointId>(from)) ==
                        node_of(cluster, static_cast<EndpointId>(to));
      if (from == to || (!near && from % 4 != to % 4)) continue;
      const Route own = route_of(*ours, from, to);
      const Route theirs = route_of(*searched, from, to);
      const bool alike = own.latency == theirs.latency && path_length(own) == path_length(theirs) &&
                         (!near || walk(cluster, own) == walk(whole, theirs));
      if (different.empty() && !alike)
        different = walk(cluster, own) + " is " + walk(whole, theirs);
    }
  }
  CHECK(different == "");
}

TEST_CASE("what a rack lacks has no name and carries nothing once all else has failed") {
  const Cluster cluster = racks(76);
  const std::array missing{failed("node1/nic36")};
  CHECK_THROWS_WITH_AS((void)change_links(cluster, missing),
                       doctest::Contains("nothing is named \"node1/nic36\""), LinkChangeError);
  CHECK(change_links(cluster, std::array{failed("node1/nic35")}).cluster.overlay().all().size() ==
        4);  // two cables
  // 36 GPUs with NVLink and C2C, 36 NICs with slot and port, both ways.
  CHECK(change_links(cluster, std::array{failed("node1")}).cluster.overlay().all().size() ==
        36 * 4 * 2);
  // All nine NICs of rail 0 of the smaller rack: what arrives there takes another rail.
  std::vector<LinkChange> rail;
  for (int nic = 0; nic < 36; nic += 4) rail.push_back(failed("node1/nic" + std::to_string(nic)));
  const Cluster less = change_links(cluster, rail).cluster;
  const std::string way = walk(less, route_of(*make_router(less), 0, 40));
  CHECK(way.find("gpu36") == std::string::npos);
  CHECK(way.find("nic36") == std::string::npos);
  CHECK(way.find("rail0") == std::string::npos);
  // In the equal rack the tenth tray has a NIC of that rail.
  const Cluster whole = build_cluster(rack(40), rails(), nodes(2));
  const Cluster other = change_links(whole, rail).cluster;
  CHECK(walk(other, route_of(*make_router(other), 0, 40)).find("node1/nic36") != std::string::npos);
}

TEST_CASE("the bisection of unequal racks is that of one graph, however it is found") {
  for (const int gpus : {76, 148}) {
    const Cluster cluster = racks(gpus);
    const auto cut = bisection(cluster);
    const auto whole = bisection(flattened(cluster));
    REQUIRE((cut && whole));
    CHECK(cut->up == whole->up);
    CHECK(cut->down == whole->down);
    Network network = lower(cluster, Endpoint{});
    network.links[0].bandwidth = network.links[0].bandwidth.scaled(0.999);  // merges nothing
    Network other = lower(flattened(cluster), Endpoint{});
    other.links[0].bandwidth = other.links[0].bandwidth.scaled(0.999);
    CHECK(bisection(cluster, network)->up == bisection(flattened(cluster), other)->up);
  }
}

TEST_CASE("pictures and scaled links of unequal racks have what is there") {
  const Cluster cluster = racks(76);
  std::ostringstream dot;
  write_dot(cluster, dot, "nvlink");
  CHECK(dot.str().find("node1/gpu35") != std::string::npos);
  CHECK(dot.str().find("node1/gpu36") == std::string::npos);
  CHECK(dot.str().find("node1/nic36") == std::string::npos);
  LinkKindFactors factors{};
  CHECK(sizes_of(with_scaled_links(cluster, factors)) == "40 36");
}

}  // namespace
}  // namespace lockstep
