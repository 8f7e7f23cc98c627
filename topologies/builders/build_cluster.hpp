#pragma once

#include <optional>
#include <string>

#include "topologies/builders/registry.hpp"
#include "topologies/graph/cluster.hpp"

namespace lockstep {

/// A builder with its parameters.
struct BuilderCall {
  const Builder* builder = nullptr;
  Parameters parameters;
  std::string transport = "infiniband";  // of a fabric: one of kTransportNames
  Duration transport_latency{};          // of a fabric, as transport_latency(Cluster)
};

/// Builds a cluster. `topology`: a direct builder, a fabric (of single GPUs), or a node; several
/// nodes require a `fabric`. `ranks`: the number of single GPUs; with nodes, as many nodes as
/// contain them, or the first GPUs of one node. Throws BuildError if that is impossible.
[[nodiscard]] Cluster build_cluster(const BuilderCall& topology,
                                    const std::optional<BuilderCall>& fabric,
                                    const ClusterSize& size);

/// Copies of an explicit node with known rails, connected by a fabric if there are several. Throws
/// BuildError.
[[nodiscard]] Cluster cluster_of_nodes(NodeBlueprint node, const std::optional<BuilderCall>& fabric,
                                       const ClusterSize& size);

}  // namespace lockstep
