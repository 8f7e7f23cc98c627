#include "topologies/routing/failed_links.hpp"

namespace lockstep {
namespace {

void mark(std::vector<bool>& marks, std::size_t size, std::size_t index) {
  marks.resize(size);
  marks[index] = true;
}

void add(FailedLinks& failed_links, const ClusterData& data, const FabricPorts& ports,
         LinkId failed) {
  if (failed < data.first_plane_link()) {
    const std::size_t links = data.node_links();
    mark(failed_links.nodes[failed / links].links, links, failed % links);
    return;
  }
  if (const auto host = ports.find(failed)) {
    ClosedTerminals& closed = failed_links.nodes[host->copy].closed;
    mark(host->up ? closed.out : closed.in, data.terminals.size(), host->terminal);
    return;
  }
  const std::size_t index = failed - data.first_plane_link();
  mark(failed_links.planes[index / data.plane_links()], data.switch_links.size(),
       index % data.plane_links() - data.host_links());
}

/// What a copy lacks, so that routes do not fall back on it. Without failures none gets there: of
/// parts that are equally near they take the first.
void add_absent(NodeFailures& lost, const ClusterData& data, std::size_t copy) {
  for (std::size_t id = 0; id < data.node_links(); ++id) {
    const ClusterLink& link = data.links[id];
    if (data.is_absent(copy, link.from) || data.is_absent(copy, link.to))
      mark(lost.links, data.node_links(), id);
  }
  for (std::size_t t = 0; t < data.terminals.size(); ++t) {
    if (!data.is_absent(copy, data.terminals[t])) continue;
    mark(lost.closed.out, data.terminals.size(), t);
    mark(lost.closed.in, data.terminals.size(), t);
  }
}

}  // namespace

FailedLinks failed_links_of(const Cluster& cluster, const FabricPorts& ports) {
  FailedLinks failed_links;
  for (const LinkState& state : cluster.overlay().all()) {
    if (state.failed) add(failed_links, cluster.data(), ports, state.id);
  }
  if (cluster.data().has_unequal_copies())
    for (auto& [copy, lost] : failed_links.nodes) add_absent(lost, cluster.data(), copy);
  return failed_links;
}

}  // namespace lockstep
