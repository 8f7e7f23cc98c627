#include "topologies/graph/link_bundles.hpp"

#include <map>
#include <set>
#include <tuple>

#include "sim/base/hash.hpp"

namespace lockstep {
namespace {

using Colour = std::uint64_t;

/// A cable as a route sees it.
struct Edge {
  VertexId from = 0;
  VertexId to = 0;
  LinkId id = 0;
  Colour kind = 0;  // of its figures
};

std::vector<Edge> edges_of(const Graph& plane) {
  std::map<std::tuple<Rate, Duration, double>, Colour> kinds;
  std::vector<Edge> edges;
  for_each_link(plane, [&](VertexId from, VertexId to, const GraphLink& link) {
    const LinkFigures& figures = link.figures;
    const auto [kind, is_new] =
        kinds.try_emplace({figures.bandwidth, figures.latency, figures.efficiency}, kinds.size());
    edges.push_back({from, to, link.id, kind->second});
  });
  return edges;
}

Colour mixed(Colour a, Colour b) {
  return mix64(a * kGoldenGamma + b);
}

std::size_t count(const std::vector<Colour>& colours) {
  return std::set<Colour>(colours.begin(), colours.end()).size();
}

/// Colours of switches, made finer until they stay as many. Equal sums of mixed numbers stand for
/// equal neighbourhoods.
std::vector<Colour> colours_of(const Graph& plane, const std::vector<bool>& has_terminals,
                               const std::vector<Edge>& edges) {
  std::vector<Colour> colours;
  for (VertexId v = 0; v < vertex_count(plane); ++v) {
    const auto kind = 2 * static_cast<Colour>(plane[v].kind) + (plane[v].forwards ? 1 : 0);
    colours.push_back(mixed(kind, has_terminals[v] ? Colour{v} + 1 : 0));
  }
  for (std::size_t before = 0, now = count(colours); now != before;) {
    std::vector<Colour> next = colours;
    for (const Edge& edge : edges) {
      next[edge.from] += mixed(colours[edge.to], 2 * edge.kind);
      next[edge.to] += mixed(colours[edge.from], 2 * edge.kind + 1);
    }
    for (std::size_t v = 0; v < colours.size(); ++v) colours[v] = mixed(next[v], colours[v]);
    before = now;
    now = count(colours);
  }
  return colours;
}

}  // namespace

LinkBundles::LinkBundles(const Graph& plane, const std::vector<bool>& has_terminals)
    : stands_for_(link_count(plane)) {
  const std::vector<Edge> edges = edges_of(plane);
  const std::vector<Colour> colours = colours_of(plane, has_terminals, edges);
  std::map<std::tuple<Colour, Colour, Colour>, LinkId> first;
  const auto bundle = [&](const Edge& edge) {
    return std::tuple{colours[edge.from], colours[edge.to], edge.kind};
  };
  for (const Edge& edge : edges) {
    const auto [known, is_new] = first.try_emplace(bundle(edge), edge.id);
    known->second = std::min(known->second, edge.id);
  }
  for (const Edge& edge : edges) stands_for_[edge.id] = first.at(bundle(edge));
}

}  // namespace lockstep
