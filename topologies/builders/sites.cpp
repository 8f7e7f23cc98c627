#include <string>
#include <utility>
#include <vector>

#include "topologies/builders/common.hpp"
#include "topologies/builders/fat_tree_plane.hpp"
#include "topologies/builders/registry.hpp"

namespace lockstep {
namespace {

/// Appends one site's switches and cables; returns the id of its first switch.
VertexId add_site(Graph& graph, const Graph& site) {
  const auto first = static_cast<VertexId>(vertex_count(graph));
  for (VertexId v = 0; v < vertex_count(site); ++v) add_vertex(graph, site[v]);
  std::vector<std::pair<VertexId, VertexId>> ends(link_count(site));
  std::vector<const LinkFigures*> figures(link_count(site));
  for_each_link(site, [&](VertexId from, VertexId to, const GraphLink& link) {
    ends[link.id] = {first + from, first + to};
    figures[link.id] = &link.figures;
  });
  for (std::size_t id = 0; id < ends.size(); ++id)
    add_link(graph, ends[id].first, ends[id].second, LinkKind::network, *figures[id]);
  return first;
}

/// The switches of a site that no other of its switches is above.
std::vector<VertexId> top_switches(const Graph& site) {
  VertexKind top = VertexKind::leaf_switch;
  for (VertexId v = 0; v < vertex_count(site); ++v) top = std::max(top, site[v].kind);
  std::vector<VertexId> out;
  for (VertexId v = 0; v < vertex_count(site); ++v)
    if (site[v].kind == top) out.push_back(v);
  return out;
}

/// `local` of every switch: its number among its kind.
void number_switches(Graph& graph) {
  std::vector<int> next(kVertexKindNames.size());
  for (VertexId v = 0; v < vertex_count(graph); ++v)
    graph[v].local = next[static_cast<std::size_t>(graph[v].kind)]++;
}

FabricBlueprint build_sites(const Parameters& parameters, const FabricDemand& demand) {
  const int sites = parameters.count("sites");
  if (demand.nodes % sites != 0) {
    throw BuildError("sites", std::to_string(demand.nodes) + " nodes cannot be divided among " +
                                  std::to_string(sites) + " sites equally");
  }
  const int terminals = demand.nodes / sites * demand.terminals_per_node;
  const FabricBlueprint site = fat_tree_plane(parameters, terminals, 64);
  const std::vector<VertexId> tops = top_switches(*site.plane);
  check_cables("sites", static_cast<double>(sites) *
                            (static_cast<double>(link_count(*site.plane)) / 2 + sites));
  FabricBlueprint fabric;
  fabric.host_link = site.host_link;
  Graph& plane = *fabric.plane;
  std::vector<VertexId> first;
  for (int s = 0; s < sites; ++s) first.push_back(add_site(plane, *site.plane));
  const VertexId border = add_switches(plane, VertexKind::core_switch, sites);
  number_switches(plane);
  for (std::size_t s = 0; s < first.size(); ++s) {
    for (const VertexId top : tops) {
      add_cable(plane, first[s] + top, border + static_cast<VertexId>(s), LinkKind::network,
                parameters.link("border", "link"));
    }
    for (const VertexId leaf : site.switch_of) fabric.switch_of.push_back(first[s] + leaf);
  }
  for (VertexId a = 0; a < static_cast<VertexId>(sites); ++a)
    for (VertexId b = a + 1; b < static_cast<VertexId>(sites); ++b)
      add_cable(plane, border + a, border + b, LinkKind::network, parameters.link("wan"));
  return fabric;
}

std::vector<Parameter> sites_parameters() {
  using enum ParameterType;
  using enum Presence;
  std::vector<Parameter> out = fat_tree_parameters();
  out.push_back({"sites", count, required, "equal parts of the nodes, in order"});
  out.push_back({"wan", link, required, "between the border routers of every two sites"});
  out.push_back({"border", link, optional,
                 "from each top switch of a site to its border router; else as link"});
  return out;
}

}  // namespace

Builder sites_builder() {
  return {
      "sites",
      "several sites, each with a fat tree of its own and a border router; a WAN link between "
      "every two border routers",
      sites_parameters(),
      R"({"builder": "sites", "sites": 2, "link": {"bandwidth": "400 Gb/s", "latency": "350 ns"}, "wan": {"bandwidth": "100 Gb/s", "latency": "4.9 ms"}})",
      "light in fibre takes 4.9 us per km (c / 1.468); fat trees as fat_tree",
      FabricBuilder{build_sites}};
}

}  // namespace lockstep
