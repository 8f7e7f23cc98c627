#include "strategies/collectives/placement/reducing_switches.hpp"

#include <doctest/doctest.h>

#include "tests/topologies/graph/cluster_helpers.hpp"
#include "topologies/builders/build_cluster.hpp"
#include "topologies/in_network/lower_with_switches.hpp"

using namespace lockstep;

namespace {

/// 32 ranks and 8 sockets; on every one of 8 rails one leaf.
Cluster four_nodes() {
  return build_cluster(hgx("dgx_h100"), rails(), nodes(4));
}

std::vector<EndpointId> ids(std::span<const EndpointId> endpoints) {
  return {endpoints.begin(), endpoints.end()};
}

}  // namespace

TEST_CASE("switches of nodes come behind the cluster's end points, those of the fabric after") {
  const ReducingSwitches switches{four_nodes(), true};
  CHECK(ids(switches.endpoints(AuxiliaryRanks::node_switches)) ==
        std::vector<EndpointId>{40, 41, 42, 43});
  // After those of the fabric, for SHARP with NVLS inside nodes, those of the nodes.
  CHECK(ids(switches.endpoints(AuxiliaryRanks::fabric_switches)) ==
        std::vector<EndpointId>{44, 45, 46, 47, 48, 49, 50, 51, 40, 41, 42, 43});
  CHECK(switches.endpoints(AuxiliaryRanks::hosts).empty());
  RankLayout layout;
  switches.add_to(layout);
  CHECK(layout.node_switches[9] == 32 + 1);    // the second node's
  CHECK(layout.fabric_switches[9] == 32 + 1);  // the second rail's
  // 32 ranks, 4 NVSwitches, 8 leaves.
  CHECK(layout.node_switches.size() == 36);
  CHECK(layout.fabric_switches.size() == 40);
}

TEST_CASE("where NVSwitches cannot reduce there are those of the fabric alone, or none") {
  const ReducingSwitches fabric{four_nodes(), false};
  CHECK(fabric.endpoints(AuxiliaryRanks::node_switches).empty());
  CHECK(fabric.endpoints(AuxiliaryRanks::fabric_switches).front() == 40);
  const Cluster ring = direct("ring", 4);
  const ReducingSwitches none{ring, true};
  RankLayout layout;
  none.add_to(layout);
  CHECK(none.forests().empty());
  CHECK(layout.node_switches.empty());
  CHECK(layout.fabric_switches.empty());
  CHECK(lower_with_switches(ring, none.forests()).endpoints.size() == 4);
}

TEST_CASE("switches above some of the ranks are numbered behind these") {
  const ReducingSwitches switches{four_nodes(), true};
  const std::vector<EndpointId> ranks{8, 9, 10, 11, 24, 25, 26, 27};
  const auto above = switches.above(AuxiliaryRanks::node_switches, ranks);
  // The second and the fourth node's switches, as ranks 8 and 9 of a schedule of eight.
  CHECK(above.switches == std::vector<EndpointId>{41, 43});
  CHECK(above.parent == std::vector<int>{8, 8, 8, 8, 9, 9, 9, 9, -1, -1});
  RankLayout layout;
  switches.add_to(layout, ranks);
  CHECK(layout.node_switches == above.parent);
  CHECK(ReducingSwitches{}.above(AuxiliaryRanks::node_switches, ranks).parent.empty());
}
