#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/push_relabel_max_flow.hpp>
#include <tuple>
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

/// A link: from, to, bytes per second.
using Flow = std::tuple<VertexId, VertexId, std::int64_t>;

void add_pipe(FlowGraph& graph, std::size_t from, std::size_t to, std::int64_t capacity) {
  const auto there = boost::add_edge(from, to, graph).first;
  const auto back = boost::add_edge(to, from, graph).first;
  graph[there].capacity = capacity;
  graph[there].reverse = back;
  graph[back].reverse = there;
}

/// Rounded up: a cut is then never narrower than it is.
std::int64_t bytes_per_second(Rate rate) {
  constexpr std::uint64_t kOne = std::uint64_t{1} << Rate::kFractionBits;
  return static_cast<std::int64_t>((rate.steps() + kOne - 1) >> Rate::kFractionBits);
}

/// Whether every link has another like it the other way.
bool is_symmetric(const std::vector<Flow>& links) {
  std::vector<Flow> there = links;
  std::vector<Flow> back;
  for (const auto& [from, to, capacity] : links) back.emplace_back(to, from, capacity);
  std::ranges::sort(there);
  std::ranges::sort(back);
  return there == back;
}

/// From the lower half to the upper, or the other way.
double maximum_flow(const Cluster& cluster, const std::vector<Flow>& links, bool up) {
  const auto ranks = static_cast<EndpointId>(cluster.ranks());
  const std::size_t source = cluster.vertex_count();
  const std::size_t sink = source + 1;
  FlowGraph graph{sink + 1};
  std::vector<std::int64_t> reach(cluster.vertex_count());  // what can be sent and received
  for (const auto& [from, to, capacity] : links) {
    add_pipe(graph, from, to, capacity);
    reach[from] += capacity;
    reach[to] += capacity;
  }
  for (EndpointId rank = 0; rank < ranks; ++rank) {
    const VertexId vertex = cluster.vertex_of(rank);
    const bool sends = (rank < ranks / 2) == up;
    add_pipe(graph, sends ? source : vertex, sends ? vertex : sink, reach[vertex]);
  }
  const auto flow =
      boost::push_relabel_max_flow(graph, source, sink,
                                   boost::capacity_map(boost::get(&Pipe::capacity, graph))
                                       .residual_capacity_map(boost::get(&Pipe::residual, graph))
                                       .reverse_edge_map(boost::get(&Pipe::reverse, graph))
                                       .vertex_index_map(boost::get(boost::vertex_index, graph)));
  return static_cast<double>(flow);
}

template <typename RateOf>
std::optional<Bisection> bisect(const Cluster& cluster, const RateOf& rate_of) {
  if (cluster.ranks() < 2) return std::nullopt;
  std::vector<Flow> links;
  for (LinkId id = 0; id < cluster.link_count(); ++id) {
    const ClusterLink link = cluster.link(id);
    links.emplace_back(link.from, link.to, bytes_per_second(rate_of(id, link)));
  }
  Bisection out;
  out.up = maximum_flow(cluster, links, true);
  out.down = is_symmetric(links) ? out.up : maximum_flow(cluster, links, false);
  return out;
}

}  // namespace

std::optional<Bisection> bisection(const Cluster& cluster) {
  return bisect(cluster, [](LinkId, const ClusterLink& link) { return link.figures.carried(); });
}

std::optional<Bisection> bisection(const Cluster& cluster, const Network& network) {
  return bisect(cluster,
                [&](LinkId id, const ClusterLink&) { return network.links[id].bandwidth; });
}

}  // namespace lockstep
