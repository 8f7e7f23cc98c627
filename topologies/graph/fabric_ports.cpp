#include "topologies/graph/fabric_ports.hpp"

#include <algorithm>

namespace lockstep {

FabricPorts::FabricPorts(const ClusterData& data)
    : data_{&data}, plane_(data.terminals.size()), turn_(data.terminals.size()) {
  for (std::size_t t = 0; t < data.terminals.size(); ++t) {
    for (std::size_t plane = 0; plane < data.plane_terminals.size(); ++plane) {
      const auto& of_plane = data.plane_terminals[plane];
      const auto found = std::find(of_plane.begin(), of_plane.end(), data.terminals[t]);
      if (found == of_plane.end()) continue;
      plane_[t] = plane;
      turn_[t] = static_cast<std::size_t>(found - of_plane.begin());
    }
  }
}

std::optional<FabricPorts::HostLink> FabricPorts::find(LinkId link) const {
  if (link < data_->first_plane_link()) return std::nullopt;
  const std::size_t index = link - data_->first_plane_link();
  const std::size_t in_plane = index % data_->plane_links();
  if (in_plane >= data_->host_links()) return std::nullopt;
  const std::size_t plane = index / data_->plane_links();
  const std::size_t per_node = data_->plane_terminals[plane].size();
  for (std::size_t t = 0; t < plane_.size(); ++t) {
    if (plane_[t] != plane || turn_[t] != in_plane / 2 % per_node) continue;
    return HostLink{in_plane / 2 / per_node, t, in_plane % 2 == 0};
  }
  return std::nullopt;
}

}  // namespace lockstep
