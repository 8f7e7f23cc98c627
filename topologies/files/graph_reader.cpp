#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sim/config/did_you_mean.hpp"
#include "topologies/files/cluster_reader.hpp"
#include "topologies/graph/cluster_data.hpp"
#include "topologies/routing/node_rails.hpp"
#include "topologies/routing/routing.hpp"

namespace lockstep {
namespace {

constexpr std::int64_t kMostIndex = 1'000'000;

template <class Kinds>
std::vector<std::string_view> names_of(const Kinds& kinds) {
  return {kinds.begin(), kinds.end()};
}

/// Where the vertices stand in the file, so that what is found later has its place.
struct GraphFile {
  std::unique_ptr<Graph> graph = std::make_unique<Graph>();
  std::map<std::string, VertexId, std::less<>> ids;
  std::vector<ValueReader> places;
};

/// Whether the vertices are those of one node, or say themselves which node they are in.
enum class Extent { whole_cluster, one_node };

/// What a node can hold; switches between nodes are the fabric's.
std::vector<std::string_view> kinds_of(Extent extent) {
  if (extent == Extent::whole_cluster) return names_of(kVertexKindNames);
  std::vector<std::string_view> names;
  for (const VertexKind kind : {VertexKind::gpu, VertexKind::cpu, VertexKind::nvswitch,
                                VertexKind::pcie_switch, VertexKind::nic}) {
    names.push_back(to_string(kind));
  }
  return names;
}

/// In a whole cluster, a rank without a specified node is a node of its own; other things then
/// belong to none.
void read_vertex(GraphFile& file, const ValueReader& value, Extent extent) {
  value.object([&](ObjectReader& in) {
    Vertex vertex;
    const ValueReader id = in.required("id");
    vertex.name = id.string();
    vertex.kind = *parse_vertex_kind(in.one_of("kind", "kind of vertex", kinds_of(extent)));
    vertex.node = 0;
    if (extent == Extent::whole_cluster)
      vertex.node = static_cast<int>(
          in.integer({"node", "Index of the node (default: every rank is a node of its own)"}, 0,
                     kMostIndex, -1));
    vertex.rail = static_cast<int>(in.integer(
        {"rail",
         "Rail of a NIC (default: its index) or of a GPU (default: that of the nearest NIC)"},
        0, kMostIndex, -1));
    vertex.forwards = in.boolean(
        {"forwards", "Transfers may pass through this vertex (default: true except for ranks)"},
        !holds_a_rank(vertex.kind));
    (void)in.optional_string("source");
    const auto next = static_cast<VertexId>(file.places.size());
    const bool is_new = file.ids.emplace(vertex.name, next).second;
    if (!is_new) id.note("there is a vertex " + in_quotes(vertex.name) + " already");
    add_vertex(*file.graph, std::move(vertex));
    file.places.push_back(value);
  });
}

std::optional<VertexId> read_end(const GraphFile& file, const ValueReader& value) {
  const std::string id = value.string();
  if (!value.is_string() || id.empty()) return std::nullopt;
  const auto found = file.ids.find(id);
  if (found != file.ids.end()) return found->second;
  std::vector<std::string_view> known;
  for (const auto& entry : file.ids) known.push_back(entry.first);
  const auto near = did_you_mean(id, known);
  value.note("no vertex " + in_quotes(id) +
             (near ? "; did you mean " + in_quotes(*near) + "?" : " in \"vertices\""));
  return std::nullopt;
}

void read_cable(GraphFile& file, const ValueReader& value) {
  value.object([&](ObjectReader& in) {
    std::vector<std::optional<VertexId>> ends;
    const ValueReader between = in.required({"between", "Ids of the two vertices it connects"});
    between.array([&](const ValueReader& end) { ends.push_back(read_end(file, end)); }, 2, 2);
    between.refine("uniqueItems", "true");
    std::vector<std::string_view> kinds = names_of(kLinkKindNames);
    kinds.emplace_back("xgmi");
    const auto kind = parse_link_kind(in.one_of("kind", "kind of cable", kinds));
    const LinkFigures figures = read_link(in);
    if (ends.size() != 2 || !ends[0] || !ends[1]) return;
    if (*ends[0] == *ends[1]) {
      between.note("a cable joins two different vertices");
      return;
    }
    add_cable(*file.graph, *ends[0], *ends[1], *kind, figures);
  });
}

/// Gives the ranks without a node one each, behind all that are specified, and every vertex its
/// index among its kind in its node.
void number(Graph& graph) {
  int next_node = 0;
  for (VertexId v = 0; v < vertex_count(graph); ++v) {
    next_node = std::max(next_node, graph[v].node + 1);
  }
  std::map<std::pair<int, VertexKind>, int> counted;
  for (VertexId v = 0; v < vertex_count(graph); ++v) {
    Vertex& vertex = graph[v];
    if (vertex.node < 0 && holds_a_rank(vertex.kind)) vertex.node = next_node++;
    vertex.local = counted[{vertex.node, vertex.kind}]++;
  }
}

/// Every rank must reach every other and what may serve them (hosts, else CPU sockets); beyond so
/// many only the first is tried as the sender.
void check_reach(const GraphFile& file, const Cluster& cluster) {
  constexpr int kMostSenders = 256;
  const auto router = make_router(cluster);
  const auto ranks = static_cast<EndpointId>(cluster.ranks());
  const auto all = static_cast<EndpointId>(cluster.endpoints());
  const EndpointId senders = cluster.ranks() <= kMostSenders ? ranks : 1;
  std::set<EndpointId> told;
  Route route;
  for (EndpointId from = 0; from < senders; ++from) {
    for (EndpointId to = from + 1; to < all; ++to) {
      if (told.count(to) != 0 || router->route(from, to, route)) continue;
      told.insert(to);
      const VertexId vertex = cluster.vertex_of(to);
      file.places[vertex].note(in_quotes(cluster.vertex_name(vertex)) + " cannot be reached from " +
                               in_quotes(cluster.vertex_name(cluster.vertex_of(from))) +
                               " through vertices that forward (GPUs do with \"forwards\": true)");
    }
  }
}

/// Reads vertices and cables; false where something is wrong.
bool read_parts(GraphFile& file, ObjectReader& in, Extent extent) {
  const ValueReader vertices = in.required("vertices");
  vertices.array([&](const ValueReader& value) { read_vertex(file, value, extent); }, 1);
  vertices.refine("contains", R"({"type": "object", "properties": {"kind": {"const": "gpu"}},
                                  "required": ["kind"]})");
  in.array("cables", [&file](const ValueReader& value) { read_cable(file, value); });
  bool any_gpu = false;
  for (VertexId v = 0; v < vertex_count(*file.graph); ++v) {
    any_gpu |= (*file.graph)[v].kind == VertexKind::gpu;
  }
  if (!any_gpu && vertices.is_array()) vertices.note("there is no vertex of the kind \"gpu\"");
  return !in.self().problems().any();
}

/// A fabric's routes hold tables of all pairs of a node's GPUs and CPUs.
void check_places(const GraphFile& file, ObjectReader& in) {
  constexpr int kMostPlaces = 512;
  int places = 0;
  for (VertexId v = 0; v < vertex_count(*file.graph); ++v) {
    const VertexKind kind = (*file.graph)[v].kind;
    places += kind == VertexKind::gpu || kind == VertexKind::cpu ? 1 : 0;
  }
  if (places > kMostPlaces)
    in.note("vertices", "a node holds at most " + std::to_string(kMostPlaces) +
                            " GPUs and CPUs together, got " + std::to_string(places));
}

/// The node as a cluster, by which its reach is judged.
Cluster alone(const Graph& node) {
  auto graph = std::make_unique<Graph>();
  for (VertexId v = 0; v < vertex_count(node); ++v) add_vertex(*graph, node[v]);
  const LinkTable links{node};
  for (std::size_t id = 0; id < links.size(); ++id) {
    add_link(*graph, links[id].from, links[id].to, links[id].kind, links[id].figures);
  }
  return cluster_of(std::move(graph));
}

}  // namespace

std::optional<Cluster> read_graph(ObjectReader& in) {
  GraphFile file;
  if (!read_parts(file, in, Extent::whole_cluster) || in.describes()) return std::nullopt;
  number(*file.graph);
  const Cluster cluster = cluster_of(std::move(file.graph));
  check_reach(file, cluster);
  return cluster;
}

std::unique_ptr<NodeBlueprint> read_node(ObjectReader& in) {
  GraphFile file;
  if (!read_parts(file, in, Extent::one_node) || in.describes()) return nullptr;
  number(*file.graph);
  check_places(file, in);
  if (in.self().problems().any()) return nullptr;
  for (const RailProblem& problem : settle_rails(*file.graph))
    file.places[problem.vertex].note(problem.message);
  check_reach(file, alone(*file.graph));
  if (in.self().problems().any()) return nullptr;
  return std::make_unique<NodeBlueprint>(NodeBlueprint{std::move(file.graph)});
}

}  // namespace lockstep
