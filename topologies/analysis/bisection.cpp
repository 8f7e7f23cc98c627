#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/push_relabel_max_flow.hpp>
#include <tuple>
#include <utility>
#include <vector>

#include "topologies/analysis/analysis.hpp"
#include "topologies/analysis/bisection_classes.hpp"
#include "topologies/graph/nodes.hpp"

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

/// Between vertices that stand for themselves, or for all that are merged into them.
struct Halves {
  std::vector<Half> half;           // per vertex
  std::vector<std::int64_t> reach;  // per vertex: what it can send and receive
  std::vector<Flow> links;
};

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
double maximum_flow(const Halves& halves, bool up) {
  const std::size_t source = halves.half.size();
  const std::size_t sink = source + 1;
  FlowGraph graph{sink + 1};
  for (const auto& [from, to, capacity] : halves.links) add_pipe(graph, from, to, capacity);
  for (std::size_t vertex = 0; vertex < halves.half.size(); ++vertex) {
    if (halves.half[vertex] == Half::none) continue;
    const bool sends = (halves.half[vertex] == Half::lower) == up;
    add_pipe(graph, sends ? source : vertex, sends ? vertex : sink, halves.reach[vertex]);
  }
  const auto flow =
      boost::push_relabel_max_flow(graph, source, sink,
                                   boost::capacity_map(boost::get(&Pipe::capacity, graph))
                                       .residual_capacity_map(boost::get(&Pipe::residual, graph))
                                       .reverse_edge_map(boost::get(&Pipe::reverse, graph))
                                       .vertex_index_map(boost::get(boost::vertex_index, graph)));
  return static_cast<double>(flow);
}

Bisection bisect(const Halves& halves) {
  Bisection out;
  out.up = maximum_flow(halves, true);
  out.down = is_symmetric(halves.links) ? out.up : maximum_flow(halves, false);
  return out;
}

Halves merged(const Cluster& cluster) {
  BisectionClasses classes = bisection_classes(cluster);
  Halves out{std::move(classes.half), std::move(classes.reach), {}};
  for (const auto& [ends, capacity] : classes.capacities)
    out.links.emplace_back(ends.first, ends.second, capacity);
  return out;
}

/// Nothing merged: links may carry anything.
Halves apart(const Cluster& cluster, const Network& network) {
  Halves out;
  out.half.resize(cluster.vertex_count(), Half::none);
  out.reach.resize(cluster.vertex_count(), 0);
  for (LinkId id = 0; id < cluster.link_count(); ++id) {
    if (is_absent_link(cluster, id)) continue;
    const ClusterLink link = cluster.link(id);
    const std::int64_t capacity = bytes_per_second(network.links[id].bandwidth);
    out.links.emplace_back(link.from, link.to, capacity);
    out.reach[link.from] += capacity;
    out.reach[link.to] += capacity;
  }
  for (int rank = 0; rank < cluster.ranks(); ++rank)
    out.half[cluster.vertex_of(static_cast<EndpointId>(rank))] =
        rank < cluster.ranks() / 2 ? Half::lower : Half::upper;
  return out;
}

bool carries_as_built(const Cluster& cluster, const Network& network) {
  for (LinkId id = 0; id < cluster.link_count(); ++id)
    if (network.links[id].bandwidth != cluster.link(id).figures.carried()) return false;
  return true;
}

}  // namespace

std::optional<Bisection> bisection(const Cluster& cluster) {
  if (cluster.ranks() < 2) return std::nullopt;
  return bisect(merged(cluster));
}

std::optional<Bisection> bisection(const Cluster& cluster, const Network& network) {
  if (cluster.ranks() < 2) return std::nullopt;
  return bisect(carries_as_built(cluster, network) ? merged(cluster) : apart(cluster, network));
}

}  // namespace lockstep
