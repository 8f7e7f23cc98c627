#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "topologies/graph/elements.hpp"

namespace lockstep {

struct GraphLink {
  LinkKind kind = LinkKind::network;
  LinkFigures figures;
  LinkId id = 0;  // index in order of creation
};

/// A property graph: vertices and directed links in order of creation. Algorithms of Boost.Graph
/// run on graphs built from it.
class Graph {
 public:
  [[nodiscard]] Vertex& operator[](std::size_t id) { return vertices_[id]; }
  [[nodiscard]] const Vertex& operator[](std::size_t id) const { return vertices_[id]; }
  [[nodiscard]] std::size_t vertex_count() const { return vertices_.size(); }
  [[nodiscard]] std::size_t link_count() const { return links_; }

  VertexId add_vertex(Vertex vertex);
  LinkId add_link(VertexId from, VertexId to, LinkKind kind, const LinkFigures& figures);

  /// Calls `visit(from, to, link)` for every link, by source vertex, then in order of creation.
  template <class Visit>
  void for_each_link(Visit&& visit) const {
    for (VertexId from = 0; from < vertices_.size(); ++from)
      for (const Out& out : out_[from]) visit(from, out.to, out.link);
  }

 private:
  struct Out {
    VertexId to = 0;
    GraphLink link;
  };
  std::vector<Vertex> vertices_;
  std::vector<std::vector<Out>> out_;  // by source vertex
  LinkId links_ = 0;
};

[[nodiscard]] inline std::size_t vertex_count(const Graph& graph) {
  return graph.vertex_count();
}
[[nodiscard]] inline std::size_t link_count(const Graph& graph) {
  return graph.link_count();
}

VertexId add_vertex(Graph& graph, Vertex vertex);
/// One direction.
LinkId add_link(Graph& graph, VertexId from, VertexId to, LinkKind kind,
                const LinkFigures& figures);
/// Both directions; first -> second gets the lower id.
void add_cable(Graph& graph, VertexId first, VertexId second, LinkKind kind,
               const LinkFigures& figures);

template <class Visit>
void for_each_link(const Graph& graph, Visit&& visit) {
  graph.for_each_link(std::forward<Visit>(visit));
}

}  // namespace lockstep
