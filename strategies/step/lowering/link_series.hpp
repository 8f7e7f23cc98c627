#pragma once

#include <map>
#include <vector>

#include "sim/engine/replay.hpp"
#include "sim/trace/perfetto.hpp"
#include "topologies/graph/cluster.hpp"

namespace lockstep {

/// Adds up what links carry over time.
class LinkLoads {
 public:
  /// `rate` bytes per second on a link from `start` to `end`.
  void add(LinkId link, TimePoint start, TimePoint end, double rate);
  /// A transfer at an even rate on its whole route, its latency included.
  void add(const Network& network, const LoggedTransfer& transfer);
  /// One series per link that carried something, in order of the links.
  [[nodiscard]] std::vector<LinkSeries> series(const Cluster& cluster) const;

 private:
  std::map<LinkId, std::map<TimePoint, double>> changes_;
};

}  // namespace lockstep
