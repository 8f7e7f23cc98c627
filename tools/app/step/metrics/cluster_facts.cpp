#include "tools/app/step/metrics/cluster_facts.hpp"

#include <algorithm>
#include <cstdint>

#include "topologies/graph/nodes.hpp"

namespace lockstep::app {

namespace {

bool is_of_first_node(const Cluster& cluster, VertexId id, VertexKind kind) {
  const Vertex vertex = cluster.vertex(id);
  return vertex.kind == kind && vertex.node == 0;
}

void keep_first(std::optional<Rate>& into, Rate rate) {
  if (!into) into = rate;
}

void add_link(const Cluster& cluster, const ClusterLink& link, ClusterFacts& facts) {
  if (is_of_first_node(cluster, link.from, VertexKind::nic)) {
    if (link.kind == LinkKind::network) {
      keep_first(facts.nic, link.figures.bandwidth);
      keep_first(facts.nic_usable, link.figures.carried());
    } else if (link.kind == LinkKind::pcie) {
      keep_first(facts.nic_pcie, link.figures.carried());
    }
  }
  if (!is_of_first_node(cluster, link.from, VertexKind::gpu)) return;
  if (link.kind == LinkKind::pcie) keep_first(facts.gpu_pcie, link.figures.carried());
  const bool to_switch = cluster.vertex(link.to).kind == VertexKind::nvswitch;
  if (to_switch && cluster.vertex(link.from).local == 0)
    facts.gpu_switch = Rate::bytes_per_second(
        static_cast<std::uint64_t>((facts.gpu_switch ? facts.gpu_switch->bytes_per_second() : 0) +
                                   link.figures.bandwidth.bytes_per_second()));
}

}  // namespace

std::optional<Rate> ClusterFacts::reachable() const {
  if (!nic_usable || !nic_pcie || nics_per_node == 0) return std::nullopt;
  double rate = nic_pcie->bytes_per_second();
  const double sharers = static_cast<double>(gpus_per_node) / nics_per_node;
  if (gpu_pcie) rate = std::min(rate, gpu_pcie->bytes_per_second() * std::max(1.0, sharers));
  return Rate::bytes_per_second(static_cast<std::uint64_t>(rate));
}

bool ClusterFacts::nic_exceeds_pcie() const {
  constexpr double kSlack = 1.1;  // 400 Gb/s over 48 GB/s of PCIe 5 is a match as sold
  const auto rate = reachable();
  return rate && nic_usable->bytes_per_second() > kSlack * rate->bytes_per_second();
}

ClusterFacts cluster_facts(const Cluster& cluster) {
  ClusterFacts out;
  out.nodes = cluster.nodes();
  out.gpus_per_node = has_equal_nodes(cluster) ? cluster.gpus_per_node() : largest_node(cluster);
  for (VertexId id = 0; id < cluster.vertex_count(); ++id) {
    const Vertex vertex = cluster.vertex(id);
    if (vertex.kind == VertexKind::nic && vertex.node == 0) ++out.nics_per_node;
  }
  for (std::size_t i = 0; i < cluster.link_count(); ++i)
    add_link(cluster, cluster.built_link(static_cast<LinkId>(i)), out);
  return out;
}

}  // namespace lockstep::app
