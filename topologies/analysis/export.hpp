#pragma once

#include <iosfwd>

#include "topologies/graph/cluster.hpp"

namespace lockstep {

/// The cluster's graph for other tools. Vertices carry label, kind, node and rail (-1: none), links
/// kind, bandwidth ("400 Gb/s") and bandwidth_Bps, both nominal, carries_Bps, which is
/// bandwidth_Bps times efficiency, latency_s and efficiency; those that have failed are left out.
/// Not for clusters of many thousands of GPUs: all of it is written out.
void write_dot(const Cluster& cluster, std::ostream& out);
void write_graphml(const Cluster& cluster, std::ostream& out);

}  // namespace lockstep
