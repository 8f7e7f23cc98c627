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

}  // namespace

FailedLinks failed_links_of(const Cluster& cluster, const FabricPorts& ports) {
  FailedLinks failed_links;
  for (const LinkState& state : cluster.overlay().all()) {
    if (state.failed) add(failed_links, cluster.data(), ports, state.id);
  }
  return failed_links;
}

}  // namespace lockstep
