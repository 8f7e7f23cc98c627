#include "topologies/analysis/export.hpp"

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/graphml.hpp>
#include <boost/graph/graphviz.hpp>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "topologies/graph/nodes.hpp"

namespace lockstep {
namespace {

struct NodeText {
  std::string id;
  std::string label;
  std::string kind;
  int node = -1;
  int rail = -1;
};

struct LinkText {
  std::string kind;
  std::string bandwidth;
  std::uint64_t bandwidth_bps = 0;  // rounded down
  std::uint64_t carries_bps = 0;    // likewise
  double latency_s = 0;
  double efficiency = 1;
};

/// Both directions, because GCC 12 takes the other kind's edge iterators for uninitialised.
using TextGraph =
    boost::adjacency_list<boost::vecS, boost::vecS, boost::bidirectionalS, NodeText, LinkText>;

TextGraph to_text(const Cluster& cluster, std::string_view gpu_links) {
  TextGraph graph;
  std::vector<std::size_t> place(cluster.vertex_count());
  for (VertexId v = 0; v < cluster.vertex_count(); ++v) {
    if (is_absent(cluster, v)) continue;
    const Vertex vertex = cluster.vertex(v);
    place[v] =
        boost::add_vertex(NodeText{std::to_string(v), cluster.vertex_name(v),
                                   std::string{to_string(vertex.kind)}, vertex.node, vertex.rail},
                          graph);
  }
  for (LinkId id = 0; id < cluster.link_count(); ++id) {
    if (cluster.has_failed(id) || is_absent_link(cluster, id)) continue;
    const auto [from, to, kind, figures] = cluster.link(id);
    boost::add_edge(
        place[from], place[to],
        LinkText{std::string{kind == LinkKind::nvlink ? gpu_links : to_string(kind)},
                 to_string(figures.bandwidth), figures.bandwidth.steps() >> Rate::kFractionBits,
                 figures.carried().steps() >> Rate::kFractionBits, figures.latency.seconds(),
                 figures.efficiency},
        graph);
  }
  return graph;
}

boost::dynamic_properties properties_of(TextGraph& graph) {
  boost::dynamic_properties properties;
  properties.property("label", boost::get(&NodeText::label, graph));
  properties.property("kind", boost::get(&NodeText::kind, graph));
  properties.property("node", boost::get(&NodeText::node, graph));
  properties.property("rail", boost::get(&NodeText::rail, graph));
  properties.property("kind", boost::get(&LinkText::kind, graph));
  properties.property("bandwidth", boost::get(&LinkText::bandwidth, graph));
  properties.property("bandwidth_Bps", boost::get(&LinkText::bandwidth_bps, graph));
  properties.property("carries_Bps", boost::get(&LinkText::carries_bps, graph));
  properties.property("latency_s", boost::get(&LinkText::latency_s, graph));
  properties.property("efficiency", boost::get(&LinkText::efficiency, graph));
  return properties;
}

}  // namespace

void write_dot(const Cluster& cluster, std::ostream& out, std::string_view gpu_links) {
  TextGraph graph = to_text(cluster, gpu_links);
  boost::dynamic_properties properties = properties_of(graph);
  properties.property("node_id", boost::get(&NodeText::id, graph));
  boost::write_graphviz_dp(out, graph, properties);
}

void write_graphml(const Cluster& cluster, std::ostream& out, std::string_view gpu_links) {
  TextGraph graph = to_text(cluster, gpu_links);
  boost::write_graphml(out, graph, properties_of(graph), true);
}

}  // namespace lockstep
