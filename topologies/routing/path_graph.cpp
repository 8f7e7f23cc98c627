#include "topologies/routing/path_graph.hpp"

#include <algorithm>

#include "sim/base/hash.hpp"

namespace lockstep {
namespace {

/// Which of the hops that leave one vertex; shares are their weights.
std::size_t draw(std::span<const Hop> hops, std::uint64_t hash) {
  Weight total = 0;
  for (const Hop& hop : hops) total += hop.weight;
  Weight left = hash % total;
  std::size_t chosen = 0;
  while (left >= hops[chosen].weight) left -= hops[chosen++].weight;
  return chosen;
}

/// Walks along the hops, `pick` choosing among those that leave the same vertex.
template <class Pick>
void keep_one(const PathGraph& graph, Route& route, Pick&& pick) {
  if (route.paths == 1) return;
  const std::span<const Hop> all{route.hops};
  std::size_t kept = 0;
  VertexId at = graph.source_of(all[0].link);
  for (std::size_t i = 0; i < all.size();) {
    std::size_t end = i;
    const VertexId source = graph.source_of(all[i].link);
    while (end < all.size() && graph.source_of(all[end].link) == source) ++end;
    if (source == at) {
      const LinkId chosen = all[i + pick(all.subspan(i, end - i))].link;
      route.hops[kept++] = Hop{chosen, kWeightUnit};
      at = graph.target_of(chosen);
    }
    i = end;
  }
  route.hops.resize(kept);
  route.paths = 1;
}

/// Takes out what belongs to failed links; `by_link` has an element for every link.
template <class T>
void drop_failed(std::vector<T>& by_link, const std::vector<bool>& failed) {
  if (failed.empty()) return;
  std::size_t kept = 0;
  for (std::size_t id = 0; id < by_link.size(); ++id) {
    if (!failed[id]) by_link[kept++] = by_link[id];
  }
  by_link.resize(kept);
}

}  // namespace

Arcs::Arcs(std::size_t states, const std::vector<StateId>& keys, const std::vector<Arc>& arcs)
    : first_(states + 1), arcs_(arcs.size()) {
  for (const StateId key : keys) ++first_[key + 1];
  for (std::size_t s = 0; s < states; ++s) first_[s + 1] += first_[s];
  std::vector<std::size_t> next{first_};
  for (std::size_t i = 0; i < arcs.size(); ++i) arcs_[next[keys[i]]++] = arcs[i];
}

PathGraph::PathGraph(const Graph& graph, const std::vector<bool>& failed)
    : ends_(link_count(graph)) {
  auto states = static_cast<StateId>(vertex_count(graph));
  for (VertexId v = 0; v < vertex_count(graph); ++v) {
    outer_.push_back(graph[v].kind == VertexKind::nic ? states++ : v);
    passable_.push_back(graph[v].forwards);
  }
  passable_.resize(states, true);
  std::vector<Arc> ahead(link_count(graph));
  std::vector<Arc> back(link_count(graph));
  std::vector<StateId> sources(link_count(graph));
  std::vector<StateId> targets(link_count(graph));
  for_each_link(graph, [&](VertexId from, VertexId to, const GraphLink& link) {
    const bool network = link.kind == LinkKind::network;
    const StateId source = network ? from : outer_[from];
    const StateId target = network ? outer_[to] : to;
    const std::int64_t latency = link.figures.latency.ps();
    ends_[link.id] = {from, to};
    sources[link.id] = source;
    targets[link.id] = target;
    ahead[link.id] = {target, link.id, latency};
    back[link.id] = {source, link.id, latency};
  });
  for (auto* const ids : {&sources, &targets}) drop_failed(*ids, failed);
  for (auto* const arcs : {&ahead, &back}) drop_failed(*arcs, failed);
  out_ = Arcs{states, sources, ahead};
  in_ = Arcs{states, targets, back};
}

void choose_lowest(const PathGraph& graph, Route& route) {
  keep_one(graph, route, [](std::span<const Hop>) { return std::size_t{0}; });
}

void choose_hashed(const PathGraph& graph, std::uint64_t hash, Route& route) {
  keep_one(graph, route, [&hash](std::span<const Hop> hops) {
    hash = splitmix64(hash);
    return draw(hops, hash);
  });
}

}  // namespace lockstep
