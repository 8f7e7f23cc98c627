#include "topologies/graph/graph.hpp"

#include <utility>

namespace lockstep {

VertexId add_vertex(Graph& graph, Vertex vertex) {
  return static_cast<VertexId>(boost::add_vertex(std::move(vertex), graph));
}

LinkId add_link(Graph& graph, VertexId from, VertexId to, LinkKind kind,
                const LinkFigures& figures) {
  const LinkId id = graph[boost::graph_bundle].links++;
  boost::add_edge(from, to, GraphLink{kind, figures, id}, graph);
  return id;
}

void add_cable(Graph& graph, VertexId first, VertexId second, LinkKind kind,
               const LinkFigures& figures) {
  add_link(graph, first, second, kind, figures);
  add_link(graph, second, first, kind, figures);
}

}  // namespace lockstep
