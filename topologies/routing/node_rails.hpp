#pragma once

#include <string>
#include <vector>

#include "topologies/graph/graph.hpp"

namespace lockstep {

/// What keeps a node from being joined by a fabric, at one of its vertices.
struct RailProblem {
  VertexId vertex = 0;
  std::string message;
};

/// Gives the NICs and GPUs of a node the rails that they do not have: NICs in their order, one
/// each; a GPU that of the nearest NIC (fewest hops, then latency), where several are as near that
/// with the fewest GPUs so far. GPUs of a node without NICs, which are cabled to the fabric
/// themselves, are all on rail 0. Returns what is then wrong: rails that leave gaps, GPUs that
/// reach no NIC of their rail. Internal.
[[nodiscard]] std::vector<RailProblem> settle_rails(Graph& node);

}  // namespace lockstep
