#pragma once

#include <map>
#include <optional>
#include <vector>

#include "topologies/graph/graph.hpp"

namespace lockstep {

/// Parent of each switch; the root has none. Internal.
using SwitchTree = std::map<VertexId, std::optional<VertexId>>;

/// Connectivity of a graph's switches by cables that work in both directions.
class SwitchGraph {
 public:
  /// `failed`: by link id; empty: none.
  explicit SwitchGraph(const Graph& graph, const std::vector<bool>& failed = {});

  /// The tree over these leaves: a single leaf itself, else the lowest spine connected to all of
  /// them, else the lowest core connected to a spine of each (the lowest of several). Empty if
  /// there is none.
  [[nodiscard]] std::optional<SwitchTree> tree_over(const std::vector<VertexId>& leaves) const;

  /// Number of the connected component of each switch.
  [[nodiscard]] std::vector<int> components() const;

 private:
  [[nodiscard]] bool joined(VertexId a, VertexId b) const;
  [[nodiscard]] std::optional<SwitchTree> under_spine(VertexId spine,
                                                      const std::vector<VertexId>& leaves) const;
  [[nodiscard]] std::optional<SwitchTree> under_core(VertexId core,
                                                     const std::vector<VertexId>& leaves) const;
  [[nodiscard]] std::optional<VertexId> spine_between(VertexId leaf, VertexId core) const;

  std::vector<VertexKind> kinds_;
  std::vector<std::vector<VertexId>> neighbours_;  // sorted
};

}  // namespace lockstep
