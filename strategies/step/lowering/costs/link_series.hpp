#pragma once

#include <map>
#include <vector>

#include "sim/engine/replay.hpp"
#include "sim/trace/perfetto.hpp"
#include "topologies/graph/cluster.hpp"

namespace lockstep {

/// Accumulates link loads over time.
class LinkLoads {
 public:
  /// Adds a load of `rate` bytes per second from `start` to `end`.
  void add(LinkId link, TimePoint start, TimePoint end, double rate);
  /// Adds a transfer at a constant rate on its whole route, including its latency.
  void add(const Network& network, const LoggedTransfer& transfer);
  /// One series per link with traffic, in link order.
  [[nodiscard]] std::vector<LinkSeries> series(const Cluster& cluster) const;

 private:
  std::map<LinkId, std::map<TimePoint, double>> changes_;
};

}  // namespace lockstep
