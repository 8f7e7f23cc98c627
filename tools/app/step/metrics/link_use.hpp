#pragma once

#include <string>
#include <vector>

#include "sim/base/units.hpp"
#include "topologies/graph/cluster.hpp"

namespace lockstep::app {

/// Traffic per link of a group of similar links in a step.
struct LinkUse {
  std::string link;       // the first of the group: "node0/gpu3 -> node0/nvswitch0"
  std::string kind{};     // "gpu -> nvswitch"
  std::size_t count = 1;  // links of equal bandwidth and utilization (within half a percent)
  Bytes bytes;            // of the busiest one
  Rate carries = Rate::bytes_per_second(1);
  double busy = 0;  // fraction of the step in which it is busy at full bandwidth
};

/// The busiest links of a step in at most `most` groups, the lowest ids first on ties. Idle links
/// are omitted. `carried`: bytes by link.
[[nodiscard]] std::vector<LinkUse> busiest_links(const std::vector<Bytes>& carried, Duration step,
                                                 const Cluster& cluster, std::size_t most);

}  // namespace lockstep::app
