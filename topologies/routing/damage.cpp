#include "topologies/routing/damage.hpp"

namespace lockstep {
namespace {

void mark(std::vector<bool>& marks, std::size_t size, std::size_t index) {
  marks.resize(size);
  marks[index] = true;
}

void add(Damage& damage, const ClusterData& data, const FabricPorts& ports, LinkId failed) {
  if (failed < data.first_plane_link()) {
    const std::size_t links = data.node_links();
    mark(damage.nodes[failed / links].links, links, failed % links);
    return;
  }
  if (const auto host = ports.find(failed)) {
    ClosedTerminals& closed = damage.nodes[host->copy].closed;
    mark(host->up ? closed.out : closed.in, data.terminals.size(), host->terminal);
    return;
  }
  const std::size_t index = failed - data.first_plane_link();
  mark(damage.planes[index / data.plane_links()], data.switch_links.size(),
       index % data.plane_links() - data.host_links());
}

}  // namespace

Damage damage_of(const Cluster& cluster, const FabricPorts& ports) {
  Damage damage;
  for (const LinkState& state : cluster.overlay().all()) {
    if (state.failed) add(damage, cluster.data(), ports, state.id);
  }
  return damage;
}

}  // namespace lockstep
