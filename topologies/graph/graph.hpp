#pragma once

#include <boost/graph/adjacency_list.hpp>
#include <cstddef>

#include "topologies/graph/elements.hpp"

/// The property graph. Boost.Graph takes seconds to compile: only the .cpp files of topologies/
/// include this.
namespace lockstep {

struct GraphLink {
  LinkKind kind = LinkKind::network;
  LinkFigures figures;
  LinkId id = 0;  // running index in the order of creation
};

/// Boost counts the edges of such a graph one vertex at a time; this remembers.
struct GraphTotals {
  LinkId links = 0;
};

using Graph = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, Vertex, GraphLink,
                                    GraphTotals>;

[[nodiscard]] inline std::size_t vertex_count(const Graph& graph) {
  return boost::num_vertices(graph);
}
[[nodiscard]] inline std::size_t link_count(const Graph& graph) {
  return graph[boost::graph_bundle].links;
}

VertexId add_vertex(Graph& graph, Vertex vertex);
/// One direction.
LinkId add_link(Graph& graph, VertexId from, VertexId to, LinkKind kind,
                const LinkFigures& figures);
/// Both directions: first -> second gets the lower id.
void add_cable(Graph& graph, VertexId first, VertexId second, LinkKind kind,
               const LinkFigures& figures);

/// Calls `visit(from, to, link)` for every link, in order of source vertex.
template <class Visit>
void for_each_link(const Graph& graph, Visit&& visit) {
  for (VertexId from = 0; from < vertex_count(graph); ++from) {
    const auto [first, last] = boost::out_edges(from, graph);
    for (auto edge = first; edge != last; ++edge) {
      visit(from, static_cast<VertexId>(boost::target(*edge, graph)), graph[*edge]);
    }
  }
}

}  // namespace lockstep
