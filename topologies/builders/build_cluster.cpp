#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <utility>

#include "sim/base/check.hpp"
#include "topologies/builders/build_cluster.hpp"
#include "topologies/graph/cluster_data.hpp"

namespace lockstep {
namespace {

constexpr std::int64_t kMostLinks = 500'000'000;

void check_range(const std::string& what, int count, std::int64_t most) {
  if (count >= 1 && count <= most) return;
  throw BuildError(
      what, what + ": expected 1 to " + std::to_string(most) + ", got " + std::to_string(count));
}

std::vector<VertexId> of_kind(const Graph& graph, VertexKind kind) {
  std::vector<VertexId> found;
  for (VertexId v = 0; v < vertex_count(graph); ++v) {
    if (graph[v].kind == kind) found.push_back(v);
  }
  return found;
}

ClusterData data_of(NodeBlueprint node) {
  ClusterData data;
  data.node = std::move(node);
  const Graph& graph = *data.node.graph;
  data.links = LinkTable{graph};
  data.gpus = of_kind(graph, VertexKind::gpu);
  data.cpus = of_kind(graph, VertexKind::cpu);
  data.terminals = of_kind(graph, VertexKind::nic);
  if (data.terminals.empty()) data.terminals = data.gpus;
  return data;
}

Cluster finish(ClusterData data) {
  return Cluster{std::make_shared<const ClusterData>(std::move(data))};
}

/// How many different rails the terminals are on; 1 where they name none.
int rails_of(const ClusterData& data) {
  std::set<int> rails;
  for (const VertexId v : data.terminals) rails.insert((*data.node.graph)[v].rail);
  return static_cast<int>(rails.size());
}

/// Planes are equal: so must be the nodes' NICs on them.
void check_even(const ClusterData& data, const Builder& fabric) {
  const std::size_t first = data.plane_terminals.front().size();
  for (std::size_t plane = 1; plane < data.plane_terminals.size(); ++plane) {
    const std::size_t own = data.plane_terminals[plane].size();
    if (own == first) continue;
    throw BuildError("fabric", "\"" + std::string{fabric.name} +
                                   "\" wants as many NICs of a node on every rail; rail 0 has " +
                                   std::to_string(first) + ", rail " + std::to_string(plane) +
                                   " has " + std::to_string(own));
  }
}

void lay_fabric(ClusterData& data, const BuilderCall& call) {
  FabricDemand demand;
  demand.nodes = data.copies;
  demand.terminals_per_node = static_cast<int>(data.terminals.size());
  demand.rails = rails_of(data);
  data.fabric = std::get<FabricBuilder>(call.builder->build)(call.parameters, demand);
  data.transport = call.transport;
  data.transport_latency = call.transport_latency;
  data.planes = data.fabric.planes;
  data.rail_first = data.fabric.rail_first;
  data.switch_links = LinkTable{*data.fabric.plane};
  data.plane_terminals.resize(static_cast<std::size_t>(data.planes));
  for (const VertexId v : data.terminals) {
    const int plane = data.planes == 1 ? 0 : (*data.node.graph)[v].rail;
    data.plane_terminals[static_cast<std::size_t>(plane)].push_back(v);
  }
  check_even(data, *call.builder);
  const auto links = static_cast<std::int64_t>(
      data.first_plane_link() + data.plane_links() * static_cast<std::size_t>(data.planes));
  if (links > kMostLinks) {
    throw BuildError("nodes", "this cluster would have " + std::to_string(links) + " links; " +
                                  std::to_string(kMostLinks) + " at most");
  }
}

void refuse_extra_hosts(const ClusterSize& size, std::string_view builder) {
  if (size.extra_hosts == 0) return;
  throw BuildError("", "the topology \"" + std::string{builder} +
                           "\" has no room for extra hosts; single GPUs on a fabric (star, "
                           "fat_tree, rail_optimised, dragonfly, sites) have");
}

/// Where every GPU is a node, ranks and nodes are the same number.
std::optional<int> single_gpus(const ClusterSize& size) {
  if (size.ranks && size.nodes && *size.ranks != *size.nodes) {
    throw BuildError("ranks", "every GPU of this topology is a node: ranks " +
                                  std::to_string(*size.ranks) + " and nodes " +
                                  std::to_string(*size.nodes) + " contradict each other");
  }
  return size.ranks ? size.ranks : size.nodes;
}

Cluster build_direct(const BuilderCall& call, const ClusterSize& size) {
  refuse_extra_hosts(size, call.builder->name);
  const auto wanted = size.ranks ? size.ranks : size.nodes;
  if (size.ranks && size.nodes && *size.ranks != *size.nodes) {
    throw BuildError("ranks", "every GPU of this topology is a node: ranks " +
                                  std::to_string(*size.ranks) + " and nodes " +
                                  std::to_string(*size.nodes) + " contradict each other");
  }
  ClusterData data =
      data_of(std::get<DirectBuilder>(call.builder->build)(call.parameters, wanted.value_or(0)));
  data.rank_count = data.direct_nodes = static_cast<int>(data.gpus.size());
  return finish(std::move(data));
}

/// Single GPUs on a fabric; extra hosts are further copies.
Cluster build_hosts(const BuilderCall& call, const ClusterSize& size) {
  const auto wanted = single_gpus(size);
  if (!wanted) throw BuildError("ranks", "say how many ranks there are");
  NodeBlueprint host;
  add_vertex(*host.graph, Vertex{VertexKind::gpu, false, 0, 0, 0, {}});
  ClusterData data = data_of(std::move(host));
  data.rank_count = *wanted;
  data.auxiliary_count = size.extra_hosts;
  data.copies = *wanted + size.extra_hosts;
  lay_fabric(data, call);
  return finish(std::move(data));
}

struct NodeLayout {
  int nodes = 1;
  int ranks = 0;
};

/// As many nodes as the size asks for, and how many of their GPUs are ranks. `trays`: of nodes that
/// may have different numbers of them.
NodeLayout lay_nodes(const ClusterSize& size, int gpus, bool trays) {
  if (!size.ranks) return {size.nodes.value_or(1), size.nodes.value_or(1) * gpus};
  const int ranks = *size.ranks;
  const bool part_of_one = ranks < gpus;
  const int nodes = part_of_one ? 1 : (trays ? ranks + gpus - 1 : ranks) / gpus;
  if (trays && !part_of_one && ranks % kGpusOfTray != 0) {
    const int below = ranks / kGpusOfTray * kGpusOfTray;
    throw BuildError(
        "ranks", "racks have whole trays of " + std::to_string(kGpusOfTray) +
                     " GPUs: expected 1 to " + std::to_string(gpus) + ", or a multiple of " +
                     std::to_string(kGpusOfTray) + " such as " + std::to_string(below) + " or " +
                     std::to_string(below + kGpusOfTray) + ", got " + std::to_string(ranks));
  }
  if (!part_of_one && !trays && ranks % gpus != 0) {
    throw BuildError("ranks", "a node has " + std::to_string(gpus) + " GPUs: expected 1 to " +
                                  std::to_string(gpus) + ", or a multiple such as " +
                                  std::to_string(ranks / gpus * gpus) + " or " +
                                  std::to_string((ranks / gpus + 1) * gpus) + ", got " +
                                  std::to_string(ranks));
  }
  if (size.nodes && *size.nodes != nodes) {
    throw BuildError("ranks", std::to_string(ranks) + " ranks are " + std::to_string(nodes) +
                                  (nodes == 1 ? " node of " : " nodes of ") +
                                  (ranks > gpus && ranks % gpus != 0 ? "up to " : "") +
                                  std::to_string(gpus) + " GPUs, not " +
                                  std::to_string(*size.nodes));
  }
  return {nodes, ranks};
}

/// Trays as evenly as possible over racks of which the first ones have one more.
void spread_trays(ClusterData& data) {
  const int trays = data.rank_count / kGpusOfTray;
  const int fewest = trays / data.copies;
  const int larger = trays % data.copies;
  for (int rack = 0; rack < data.copies; ++rack)
    data.node_ends.push_back(((rack + 1) * fewest + std::min(rack + 1, larger)) * kGpusOfTray);
  data.gpus_per_node = kGpusOfTray;  // neighboring numbers have no greater common divisor
  const auto cpus = data.cpus.size() * static_cast<std::size_t>(data.rank_count);
  data.auxiliary_count = static_cast<int>(cpus / data.gpus.size());
}

/// As many copies as the size asks for, joined. `trays`: copies may have less than others.
Cluster join_nodes(ClusterData data, const std::optional<BuilderCall>& fabric,
                   const ClusterSize& size, std::string_view topology, bool trays = false) {
  data.gpus_per_node = static_cast<int>(data.gpus.size());
  const NodeLayout plan = lay_nodes(size, data.gpus_per_node, trays);
  refuse_extra_hosts(size, topology);
  data.copies = plan.nodes;
  data.rank_count = plan.ranks;
  data.auxiliary_count = plan.nodes * static_cast<int>(data.cpus.size());
  if (plan.nodes > 1 && plan.ranks != plan.nodes * data.gpus_per_node) spread_trays(data);
  if (plan.nodes == 1) return finish(std::move(data));
  if (!fabric) {
    throw BuildError("nodes", "this cluster has no fabric to join " + std::to_string(plan.nodes) +
                                  " nodes: 1 is possible");
  }
  lay_fabric(data, *fabric);
  return finish(std::move(data));
}

Cluster build_nodes(const BuilderCall& topology, const std::optional<BuilderCall>& fabric,
                    const ClusterSize& size) {
  Parameters parameters = topology.parameters;
  const bool trays = size.ranks.value_or(0) > kGpusOfRack &&
                     topology.builder == find_topology_builder("nvl72") && !parameters.has("gpus");
  if (trays) parameters.set("gpus", std::int64_t{rack_gpus(*size.ranks)});
  ClusterData data = data_of(std::get<NodeBuilder>(topology.builder->build)(parameters));
  return join_nodes(std::move(data), fabric, size, topology.builder->name, trays);
}

/// Of a graph whose GPUs are in the order of their nodes.
void count_nodes(ClusterData& data) {
  const Graph& graph = *data.node.graph;
  std::map<int, int> sizes;  // by the node's number in the graph
  for (const VertexId v : data.gpus) ++sizes[graph[v].node];
  if (sizes.empty()) return;
  data.direct_nodes = static_cast<int>(sizes.size());
  data.gpus_per_node = 0;
  for (const auto& [node, size] : sizes) {
    data.gpus_per_node = std::gcd(data.gpus_per_node, size);
    data.node_ends.push_back((data.node_ends.empty() ? 0 : data.node_ends.back()) + size);
  }
  const bool equal = data.gpus_per_node * data.direct_nodes == data.rank_count;
  if (equal) data.node_ends.clear();
}

void check_size(const ClusterSize& size) {
  check_range("nodes", size.nodes.value_or(1), kMostNodes);
  check_range("ranks", size.ranks.value_or(1), kMostRanks);
  if (size.extra_hosts != 0) check_range("extra hosts", size.extra_hosts, kMostNodes);
}

}  // namespace

Cluster build_cluster(const BuilderCall& topology, const std::optional<BuilderCall>& fabric,
                      const ClusterSize& size) {
  LOCKSTEP_CHECK(topology.builder != nullptr);
  check_size(size);
  if (topology.builder->is_node()) return build_nodes(topology, fabric, size);
  if (fabric) {
    throw BuildError("fabric", "the topology \"" + std::string{topology.builder->name} +
                                   "\" is whole without a fabric");
  }
  if (topology.builder->is_direct()) return build_direct(topology, size);
  return build_hosts(topology, size);
}

Cluster cluster_of_nodes(NodeBlueprint node, const std::optional<BuilderCall>& fabric,
                         const ClusterSize& size) {
  check_size(size);
  ClusterData data = data_of(std::move(node));
  data.names_of_node = true;
  return join_nodes(std::move(data), fabric, size, "node");
}

Cluster cluster_of(std::unique_ptr<Graph> graph) {
  ClusterData data = data_of(NodeBlueprint{std::move(graph)});
  std::stable_sort(data.gpus.begin(), data.gpus.end(), [&data](VertexId a, VertexId b) {
    const Vertex& first = (*data.node.graph)[a];
    const Vertex& second = (*data.node.graph)[b];
    return std::pair{first.node, first.local} < std::pair{second.node, second.local};
  });
  const auto hosts = of_kind(*data.node.graph, VertexKind::host);
  if (!hosts.empty()) data.cpus = hosts;
  data.rank_count = static_cast<int>(data.gpus.size());
  data.auxiliary_count = static_cast<int>(data.cpus.size());
  count_nodes(data);
  return finish(std::move(data));
}

}  // namespace lockstep
