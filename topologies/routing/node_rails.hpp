#pragma once

#include <string>
#include <vector>

#include "topologies/graph/graph.hpp"

namespace lockstep {

/// Why a node cannot be connected to a fabric, at one of its vertices.
struct RailProblem {
  VertexId vertex = 0;
  std::string message;
};

/// Assigns missing rails to the NICs and GPUs of a node: to NICs in order, one each; to a GPU that
/// of the nearest NIC (fewest hops, then latency), with ties broken by the fewest GPUs so far. GPUs
/// of a node without NICs, connected to the fabric directly, are all on rail 0. Returns the
/// remaining problems: gaps between rails, GPUs that cannot reach a NIC of their rail. Internal.
[[nodiscard]] std::vector<RailProblem> settle_rails(Graph& node);

}  // namespace lockstep
