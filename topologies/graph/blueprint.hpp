#pragma once

#include <memory>
#include <vector>

#include "topologies/graph/graph.hpp"
#include "topologies/graph/parameters.hpp"

/// Output of builders, from which topologies/graph/cluster.cpp makes a cluster. Internal.
namespace lockstep {

/// One node, or a whole cluster without a fabric; GPUs first, in rank order.
struct NodeBlueprint {
  std::unique_ptr<Graph> graph = std::make_unique<Graph>();
  std::vector<int> dimensions{};  // of a ring or torus; the first varies fastest
};

/// What a fabric has to connect: the NICs of the nodes, or hosts without NICs.
struct FabricDemand {
  int nodes = 1;
  int terminals_per_node = 1;
  int rails = 1;
};

/// `planes` equal, disjoint sets of switches. Each has the terminals of one rail (all of them if
/// there is one plane), node-major.
struct FabricBlueprint {
  int planes = 1;
  bool rail_first = false;
  std::unique_ptr<Graph> plane = std::make_unique<Graph>();  // switches alone; node = -1
  LinkFigures host_link;                                     // from every terminal to its switch
  std::vector<VertexId> switch_of;                           // per terminal of a plane
};

}  // namespace lockstep
