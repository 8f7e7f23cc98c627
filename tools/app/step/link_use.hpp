#pragma once

#include <string>
#include <vector>

#include "sim/base/units.hpp"
#include "topologies/graph/cluster.hpp"

namespace lockstep::app {

/// What a link carried in a step.
struct LinkUse {
  std::string link;  // "node0/gpu3 -> node0/nvswitch0"
  Bytes bytes;
  Rate carries = Rate::bytes_per_second(1);
  double busy = 0;  // share of the step for which it carries all that it can, were it alone
};

/// The busiest links of a step, at most `most`; of equally busy ones those with the lowest ids.
/// Links that carry nothing are left out. `carried`: by link.
[[nodiscard]] std::vector<LinkUse> busiest_links(const std::vector<Bytes>& carried, Duration step,
                                                 const Cluster& cluster, std::size_t most);

}  // namespace lockstep::app
