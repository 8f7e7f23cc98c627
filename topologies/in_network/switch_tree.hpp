#pragma once

#include <map>
#include <optional>
#include <vector>

#include "topologies/graph/graph.hpp"

namespace lockstep {

/// Switches by the one above them; the root has none. Internal.
using SwitchTree = std::map<VertexId, std::optional<VertexId>>;

/// Which switches of a graph are joined by cables, both directions of which work.
class SwitchGraph {
 public:
  /// `failed` marks links by id; empty: none.
  explicit SwitchGraph(const Graph& graph, const std::vector<bool>& failed = {});

  /// The tree over these leaves: one of them where it is alone, else the spine of lowest id that
  /// joins all of them, else the core of lowest id that does so over a spine of each (of several,
  /// that of lowest id). Empty if there is none.
  [[nodiscard]] std::optional<SwitchTree> tree_over(const std::vector<VertexId>& leaves) const;

  /// Switches that are joined, directly or over others, have the same number.
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
