#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "sim/base/units.hpp"
#include "topologies/graph/cluster.hpp"

namespace lockstep::app {

/// Links of equal bandwidth between the same kinds of vertices.
struct LinkClass {
  std::string name;       // "gpu -> nvswitch"
  std::size_t links = 0;  // with traffic
  Rate bandwidth = Rate::bytes_per_second(1);
  double busiest = 0;   // utilization over the step, 1 at most
  double mean = 0;      // over links with traffic
  std::string example;  // the busiest link
};

/// Classes of links with traffic, the busiest first. `carried`: bytes by link.
[[nodiscard]] std::vector<LinkClass> link_classes(const std::vector<Bytes>& carried, Duration step,
                                                  const Cluster& cluster);

}  // namespace lockstep::app
