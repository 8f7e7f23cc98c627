#pragma once

#include <optional>

#include "topologies/builders/registry.hpp"
#include "topologies/graph/cluster.hpp"

namespace lockstep {

/// A builder with the values of its parameters.
struct BuilderCall {
  const Builder* builder = nullptr;
  Parameters parameters;
};

/// Builds a cluster. `topology` is a direct builder, a fabric (single GPUs on it), or a node; nodes
/// need a `fabric` where there is more than one. `ranks` says how many of single GPUs there are;
/// on nodes it picks as many nodes as hold them, or the first GPUs of one node.
/// Throws BuildError where that cannot be built.
[[nodiscard]] Cluster build_cluster(const BuilderCall& topology,
                                    const std::optional<BuilderCall>& fabric,
                                    const ClusterSize& size);

/// Copies of a node that a file has written out, its rails settled, joined by a fabric where there
/// is more than one. Throws BuildError.
[[nodiscard]] Cluster cluster_of_nodes(NodeBlueprint node, const std::optional<BuilderCall>& fabric,
                                       const ClusterSize& size);

}  // namespace lockstep
