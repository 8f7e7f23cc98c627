#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "sim/base/units.hpp"
#include "topologies/graph/cluster.hpp"

namespace lockstep::app {

/// Links of one bandwidth between the same kinds of vertices.
struct LinkClass {
  std::string name;       // "gpu -> nvswitch"
  std::size_t links = 0;  // that carry anything
  Rate bandwidth = Rate::bytes_per_second(1);
  double busiest = 0;   // utilization over the step, 1 at most
  double mean = 0;      // of the links that carry anything
  std::string example;  // the busiest link
};

/// Classes of the links that carry anything, the busiest first. `carried`: by link.
[[nodiscard]] std::vector<LinkClass> link_classes(const std::vector<Bytes>& carried, Duration step,
                                                  const Cluster& cluster);

}  // namespace lockstep::app
