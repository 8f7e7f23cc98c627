#pragma once

#include <iosfwd>
#include <string_view>

#include "topologies/graph/cluster.hpp"

namespace lockstep {

/// Writes the cluster's graph for other tools. Vertices have label, kind, node and rail (-1: none);
/// links have kind, bandwidth ("400 Gb/s") and bandwidth_Bps, both nominal, carries_Bps
/// (bandwidth_Bps times efficiency), latency_s and efficiency; failed ones are omitted. Writes
/// every vertex and link, so not suitable for many thousands of GPUs. `gpu_links` is the kind of
/// the direct links of GPUs: nvlink or xgmi.
void write_dot(const Cluster& cluster, std::ostream& out, std::string_view gpu_links = "nvlink");
void write_graphml(const Cluster& cluster, std::ostream& out,
                   std::string_view gpu_links = "nvlink");

}  // namespace lockstep
