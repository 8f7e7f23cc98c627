#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/push_relabel_max_flow.hpp>
#include <vector>

#include "topologies/analysis.hpp"

namespace lockstep {
namespace {

using Traits = boost::adjacency_list_traits<boost::vecS, boost::vecS, boost::directedS>;

struct Pipe {
  std::int64_t capacity = 0;  // bytes per second
  std::int64_t residual = 0;
  Traits::edge_descriptor reverse;
};

using FlowGraph =
    boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, boost::no_property, Pipe>;

void add_pipe(FlowGraph& graph, std::size_t from, std::size_t to, std::int64_t capacity) {
  const auto there = boost::add_edge(from, to, graph).first;
  const auto back = boost::add_edge(to, from, graph).first;
  graph[there].capacity = capacity;
  graph[there].reverse = back;
  graph[back].reverse = there;
}

std::int64_t bytes_per_second(const LinkFigures& figures) {
  return static_cast<std::int64_t>(figures.carried().steps() >> Rate::kFractionBits);
}

/// Adds every link; returns what each vertex can send and receive in all.
std::vector<std::int64_t> add_links(FlowGraph& graph, const Cluster& cluster) {
  std::vector<std::int64_t> reach(cluster.vertex_count());
  for (LinkId id = 0; id < cluster.link_count(); ++id) {
    const ClusterLink link = cluster.link(id);
    const std::int64_t capacity = bytes_per_second(link.figures);
    add_pipe(graph, link.from, link.to, capacity);
    reach[link.from] += capacity;
    reach[link.to] += capacity;
  }
  return reach;
}

}  // namespace

std::optional<double> bisection_bytes_per_second(const Cluster& cluster) {
  const auto ranks = static_cast<EndpointId>(cluster.ranks());
  if (ranks < 2) return std::nullopt;
  const std::size_t source = cluster.vertex_count();
  const std::size_t sink = source + 1;
  FlowGraph graph{sink + 1};
  const auto reach = add_links(graph, cluster);
  for (EndpointId rank = 0; rank < ranks; ++rank) {
    const VertexId vertex = cluster.vertex_of(rank);
    const bool lower = rank < ranks / 2;
    add_pipe(graph, lower ? source : vertex, lower ? vertex : sink, reach[vertex]);
  }
  const auto flow =
      boost::push_relabel_max_flow(graph, source, sink,
                                   boost::capacity_map(boost::get(&Pipe::capacity, graph))
                                       .residual_capacity_map(boost::get(&Pipe::residual, graph))
                                       .reverse_edge_map(boost::get(&Pipe::reverse, graph))
                                       .vertex_index_map(boost::get(boost::vertex_index, graph)));
  return static_cast<double>(flow);
}

}  // namespace lockstep
