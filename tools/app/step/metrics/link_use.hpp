#pragma once

#include <string>
#include <vector>

#include "sim/base/units.hpp"
#include "topologies/graph/cluster.hpp"

namespace lockstep::app {

/// What links between the same kinds of vertices carried in a step, each of them.
struct LinkUse {
  std::string link;       // "node0/gpu3 -> node0/nvswitch0", the first of them
  std::string kind{};     // "gpu -> nvswitch"
  std::size_t count = 1;  // of equal bandwidth and of the same utilization, in half percents
  Bytes bytes;            // of the busiest
  Rate carries = Rate::bytes_per_second(1);
  double busy = 0;  // share of the step for which it carries all that it can, were it alone
};

/// The busiest links of a step, in at most `most` groups; of equally busy ones those with the
/// lowest ids. Idle links are omitted. `carried`: by link.
[[nodiscard]] std::vector<LinkUse> busiest_links(const std::vector<Bytes>& carried, Duration step,
                                                 const Cluster& cluster, std::size_t most);

}  // namespace lockstep::app
