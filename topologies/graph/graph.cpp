#include "topologies/graph/graph.hpp"

#include <utility>

#include "sim/base/check.hpp"

namespace lockstep {

VertexId Graph::add_vertex(Vertex vertex) {
  vertices_.push_back(std::move(vertex));
  out_.emplace_back();
  return static_cast<VertexId>(vertices_.size() - 1);
}

LinkId Graph::add_link(VertexId from, VertexId to, LinkKind kind, const LinkFigures& figures) {
  LOCKSTEP_CHECK(from < vertices_.size() && to < vertices_.size());
  out_[from].push_back({to, {kind, figures, links_}});
  return links_++;
}

VertexId add_vertex(Graph& graph, Vertex vertex) {
  return graph.add_vertex(std::move(vertex));
}

LinkId add_link(Graph& graph, VertexId from, VertexId to, LinkKind kind,
                const LinkFigures& figures) {
  return graph.add_link(from, to, kind, figures);
}

void add_cable(Graph& graph, VertexId first, VertexId second, LinkKind kind,
               const LinkFigures& figures) {
  add_link(graph, first, second, kind, figures);
  add_link(graph, second, first, kind, figures);
}

}  // namespace lockstep
