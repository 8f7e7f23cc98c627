#pragma once

#include "sim/base/units.hpp"
#include "strategies/nccl/cost/names.hpp"

namespace lockstep {

/// Channels that a search found, all alike.
struct NcclGraph {
  int channels = 0;                        // 0: none
  Rate intra = Rate::bytes_per_second(1);  // of one channel, inside a node
  Rate inter = Rate::bytes_per_second(1);  // of one channel, between nodes
};

/// What NCCL's tuning looks at. facts_of() derives it from a cluster; tests and users may write it.
struct NcclFacts {
  int ranks = 2;
  int nodes = 1;
  int most_per_node = 0;  // ranks of the node that has most, where they differ in size; 0: equal
  NcclArchitecture architecture = NcclArchitecture::hopper;
  NcclCpu cpu = NcclCpu::other;
  bool nvlink = true;                   // GPUs of a node are joined by it; else by PCIe
  NcclPath intra_path = NcclPath::nvl;  // the farthest on a ring
  NcclPath inter_path = NcclPath::pix;  // from a GPU to its NIC
  Duration nic_latency;                 // as the network's plugin tells
  NcclGraph ring;                       // trees, PAT and CollNet run on its channels too
  NcclGraph nvls;
  int channels = 1;           // that kernels run with where messages are large
  bool same_channels = true;  // every ring passes the GPUs in the same order, over the same NIC
  bool plain_tree = false;    // a tree that hangs on a single GPU per node
  bool has_collnet = false;   // a plugin reduces in the network (SHARP)

  /// Of the node that has most.
  [[nodiscard]] int ranks_per_node() const {
    return most_per_node > 0 ? most_per_node : ranks / nodes;
  }
  [[nodiscard]] bool has_equal_nodes() const { return most_per_node == 0; }
  [[nodiscard]] NcclSpan span() const {
    return nodes == 1   ? NcclSpan::one_node
           : nodes == 2 ? NcclSpan::two_nodes
                        : NcclSpan::more_nodes;
  }
};

}  // namespace lockstep
