#include "topologies/fabric_ports.hpp"

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

}  // namespace lockstep
