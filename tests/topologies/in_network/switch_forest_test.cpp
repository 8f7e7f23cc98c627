#include "topologies/in_network/switch_forest.hpp"

#include <doctest/doctest.h>

#include <array>

#include "sim/engine/replay.hpp"
#include "tests/topologies/graph/cluster_helpers.hpp"
#include "topologies/analysis/analysis.hpp"
#include "topologies/builders/build_cluster.hpp"
#include "topologies/files/cluster_file.hpp"
#include "topologies/in_network/lower_with_switches.hpp"

namespace lockstep {
namespace {

Cluster shipped(const std::string& name, const ClusterSize& size = {}) {
  return load_cluster(LOCKSTEP_SOURCE_DIR "/configs/clusters/" + name + ".json", size).cluster;
}

/// "leaf0 < spine0 < core1": the way up from a rank.
std::string chain(const Cluster& cluster, const SwitchForest& forest, int rank) {
  std::string text;
  int at = forest.parent[static_cast<std::size_t>(rank)];
  for (; at >= 0; at = forest.parent[static_cast<std::size_t>(at)]) {
    const auto k = static_cast<std::size_t>(at - cluster.ranks());
    text += (text.empty() ? "" : " < ") + cluster.vertex_name(forest.vertices[k]);
  }
  return text;
}

std::string chain(const Cluster& cluster, int rank) {
  const auto forest = switch_forest(cluster, SwitchTier::fabric);
  return forest ? chain(cluster, *forest, rank) : "none";
}

/// One message from one end point to another, nothing else going on.
ReplayResult send(const Network& network, EndpointId from, EndpointId to, Bytes size) {
  Activity send;
  send.kind = Activity::Kind::send;
  send.peer = to;
  send.size = size;
  Activity receive = send;
  receive.kind = Activity::Kind::receive;
  receive.peer = from;
  Workload workload;
  workload.streams.push_back({from, "sender", {send}});
  workload.streams.push_back({to, "receiver", {receive}});
  return replay(network, workload, NetworkModel::fluid);
}

TEST_CASE("in nodes every rank is below its own node's NVSwitch") {
  const Cluster cluster = shipped("dgx-h100", nodes(4));
  const auto forest = switch_forest(cluster, SwitchTier::nvswitch);
  REQUIRE(forest);
  REQUIRE(forest->switches.size() == 4);
  CHECK(forest->switches[0] == 32 + 8);  // behind 32 ranks and 8 sockets
  CHECK(forest->switches[3] == 32 + 11);
  REQUIRE(forest->parent.size() == 36);
  for (std::size_t rank = 0; rank < 32; ++rank) {
    CHECK(forest->parent[rank] == 32 + static_cast<int>(rank) / 8);
  }
  CHECK(forest->parent[32] == -1);
  CHECK(chain(cluster, *forest, 17) == "node2/nvswitch0");
  CHECK_FALSE(switch_forest(shipped("dgx1"), SwitchTier::nvswitch));
  CHECK_FALSE(switch_forest(shipped("star"), SwitchTier::nvswitch));
  CHECK(switch_forest(shipped("dgx-h100", ranks(3)), SwitchTier::nvswitch)->parent.size() == 4);
}

/// As of the network without switches, whose bundles routing_test.cpp looks at: 65 nodes have
/// leaves of 32 and spines.
TEST_CASE(
    "a network with switches in its nodes has outlines of routes, with some in the fabric none") {
  const Cluster cluster = shipped("dgx-h100", nodes(65));
  const Network plain = lower(cluster, Endpoint{});
  REQUIRE(plain.router->has_outlines());
  const std::vector in_nodes{*switch_forest(cluster, SwitchTier::nvswitch)};
  const Network network = lower_with_switches(cluster, in_nodes, Endpoint{});
  REQUIRE(network.router->has_outlines());
  Route expected;
  Route outline;
  REQUIRE(plain.router->outline(0, 512, expected));
  REQUIRE(network.router->outline(0, 512, outline));
  Route whole;
  REQUIRE(network.router->route(0, 512, whole));
  CHECK(outline.hops.size() < whole.hops.size());
  CHECK(outline.latency == whole.latency);
  REQUIRE(outline.hops.size() == expected.hops.size());
  for (std::size_t i = 0; i < outline.hops.size(); ++i)
    CHECK(outline.hops[i].link == expected.hops[i].link);
  for (const Hop& hop : whole.hops)
    CHECK(network.router->stands_for(hop.link) == plain.router->stands_for(hop.link));
  // To an NVSwitch, which no bundle leads to.
  const EndpointId nvswitch = in_nodes[0].switches[0];
  REQUIRE(network.router->outline(0, nvswitch, outline));
  REQUIRE(network.router->route(0, nvswitch, whole));
  CHECK(outline.hops.size() == whole.hops.size());
  const std::vector in_fabric{*switch_forest(cluster, SwitchTier::fabric)};
  CHECK_FALSE(lower_with_switches(cluster, in_fabric, Endpoint{}).router->has_outlines());
}

TEST_CASE("in the fabric: per rail the leaf of the rank's own NIC, one root above all leaves") {
  CHECK(chain(shipped("star"), 5) == "leaf0");
  // One leaf a rail up to 32 nodes.
  CHECK(chain(shipped("dgx-h100", nodes(4)), 8 + 3) == "rail3/leaf0");
  // 64 nodes a leaf: 128 nodes have two leaves a rail.
  const Cluster rails_of_two = shipped("rail-optimised");
  CHECK(chain(rails_of_two, 63 * 8 + 5) == "rail5/leaf0 < rail5/spine0");
  CHECK(chain(rails_of_two, 64 * 8 + 5) == "rail5/leaf1 < rail5/spine0");
  const auto forest = switch_forest(rails_of_two, SwitchTier::fabric);
  CHECK(forest->switches.size() == 8 * 3);
  CHECK(chain(shipped("fat-tree"), 63) == "leaf7 < spine0");
  // Leaves with nobody below stay out.
  CHECK(switch_forest(shipped("fat-tree", ranks(8)), SwitchTier::fabric)->switches.size() == 1);
}

TEST_CASE("three levels: over the spine of each pod that one core joins") {
  const Cluster tree =
      build_cluster(call("fat_tree", {{"link", plain_link()}, {"radix", std::int64_t{4}}}),
                    std::nullopt, ranks(16));
  // Pods of two leaves with two hosts each and two spines: hosts 12 to 15 are in the last of four.
  CHECK(chain(tree, 0) == "leaf0 < spine0 < core0");
  CHECK(chain(tree, 15) == "leaf7 < spine6 < core0");
  const auto forest = switch_forest(tree, SwitchTier::fabric);
  CHECK(forest->switches.size() == 8 + 4 + 1);  // all leaves, a spine a pod, one core
}

TEST_CASE("rings, tori and dragonflies are no trees, one node has no fabric") {
  for (const char* name : {"ring", "torus-2d", "hypercube", "full-mesh", "dragonfly", "dgx-h100"}) {
    CAPTURE(name);
    CHECK_FALSE(switch_forest(shipped(name), SwitchTier::fabric));
  }
}

TEST_CASE("a cluster written out: the leaf that a rank reaches first") {
  const Cluster boxes = shipped("custom-graph");
  CHECK(chain(boxes, 3) == "switch");
  // The same answers from the graph alone.
  for (const Cluster& cluster : {shipped("fat-tree"), shipped("dgx-h100", nodes(3))}) {
    const Cluster whole = flattened(cluster);
    for (int rank = 0; rank < cluster.ranks(); ++rank) {
      CHECK(chain(whole, rank) == chain(cluster, rank));
    }
    CHECK(switch_forest(whole, SwitchTier::nvswitch).has_value() ==
          switch_forest(cluster, SwitchTier::nvswitch).has_value());
  }
}

TEST_CASE("routes between ranks and switches cross the right links, in both directions") {
  const Cluster cluster = shipped("dgx-h100", nodes(4));
  std::vector<SwitchForest> forests{*switch_forest(cluster, SwitchTier::nvswitch)};
  forests.push_back(*switch_forest(cluster, SwitchTier::fabric, 4));
  const Network network = lower_with_switches(cluster, forests, Endpoint{2_us, 100_GBps});
  REQUIRE(network.endpoints.size() == 40 + 4 + 8);
  CHECK(network.endpoints[31].message_overhead == 2_us);
  CHECK(network.endpoints[40].message_overhead == 0_us);
  CHECK_FALSE(network.endpoints[40].reduce_rate);

  const int nvswitch1 = 41;  // of node 1
  const int leaf3 = 44 + 3;  // of rail 3
  const Router& router = *network.router;
  const Route in = route_of(router, 11, nvswitch1);
  CHECK(walk(cluster, in) == "node1/gpu3 node1/nvswitch0");
  CHECK(in.latency == 300_ns);
  CHECK(walk(cluster, route_of(router, nvswitch1, 11)) == "node1/nvswitch0 node1/gpu3");
  CHECK(walk(cluster, route_of(router, nvswitch1, 3)) == "none");  // of node 0
  const Route up = route_of(router, 11, leaf3);
  CHECK(walk(cluster, up) == "node1/gpu3 node1/pcie_switch3 node1/nic3 rail3/leaf0");
  CHECK(up.latency == 1350_ns);  // two PCIe links of 500 ns, a cable of 350 ns
  CHECK(bottleneck(cluster, up)->rate == 48_GBps);
  CHECK(walk(cluster, route_of(router, leaf3, 11)) ==
        "rail3/leaf0 node1/nic3 node1/pcie_switch3 node1/gpu3");
  CHECK(walk(cluster, route_of(router, leaf3, 12)) == "none");  // on rail 4
  CHECK(walk(cluster, route_of(router, leaf3, nvswitch1)) == "none");
  CHECK(walk(cluster, route_of(router, 35, leaf3)) == "none");  // a CPU socket
  CHECK(route_of(router, leaf3, leaf3).hops.empty());
  CHECK(walk(cluster, route_of(router, 0, 8)) ==
        walk(cluster, route_of(*make_router(cluster), 0, 8)));
}

TEST_CASE("several cables between two switches share what they carry") {
  const Cluster cluster = shipped("fat-tree");
  const std::array forests{*switch_forest(cluster, SwitchTier::fabric)};
  const Network network = lower_with_switches(cluster, forests);
  const EndpointId leaf = forests[0].switches[7];
  const EndpointId spine = forests[0].switches[8];
  CHECK(cluster.vertex_name(forests[0].vertices[8]) == "spine0");
  // 8 ports up, 4 spines: two cables to each.
  const Route route = route_of(*network.router, static_cast<int>(leaf), static_cast<int>(spine));
  CHECK(route.paths == 2);
  CHECK(route.latency == 1_us);
  CHECK(bottleneck(cluster, route)->rate == 100_GBps);
  const ReplayResult result = send(network, leaf, spine, 10'000'000_B);
  for (const Hop& hop : route.hops) CHECK(result.link_bytes[hop.link] == 5'000'000_B);
  CHECK(result.end.since_start() == 101_us);  // 10 MB at 100 GB/s, then 1 us
}

TEST_CASE("a hop up a star takes what the link says and is counted there alone") {
  const Cluster cluster = shipped("star");
  const std::array forests{*switch_forest(cluster, SwitchTier::fabric)};
  const Network network = lower_with_switches(cluster, forests);
  const ReplayResult result = send(network, 5, forests[0].switches[0], 1'000'000_B);
  CHECK(result.end.since_start() == 21_us);  // 1 MB at 50 GB/s, 1 us
  for (LinkId id = 0; id < network.links.size(); ++id) {
    const bool crossed = cluster.link_name(id) == "gpu5 -> leaf0";
    CHECK(result.link_bytes[id] == (crossed ? 1'000'000_B : 0_B));
  }
}

}  // namespace
}  // namespace lockstep
