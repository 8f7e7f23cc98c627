#pragma once

#include "sim/base/units.hpp"
#include "strategies/calibration/nccl_names.hpp"

namespace lockstep {

/// Equal channels found by the search.
struct NcclGraph {
  int channels = 0;                        // 0: none
  Rate intra = Rate::bytes_per_second(1);  // of one channel, inside a node
  Rate inter = Rate::bytes_per_second(1);  // of one channel, between nodes
};

/// Input of NCCL's tuning model. nccl_facts_of() derives it from a cluster.
struct NcclFacts {
  int ranks = 2;
  int nodes = 1;
  int most_per_node = 0;  // ranks on the largest node if sizes differ; 0: equal
  NcclArchitecture architecture = NcclArchitecture::hopper;
  NcclCpu cpu = NcclCpu::other;
  bool nvlink = true;                   // GPUs of a node are connected by NVLink; otherwise PCIe
  NcclPath intra_path = NcclPath::nvl;  // the longest on a ring
  NcclPath inter_path = NcclPath::pix;  // from a GPU to its NIC
  Duration nic_latency;                 // as reported by the network plugin
  Duration transport_latency;           // per message between nodes, beyond the links
  NcclGraph ring;                       // also used by trees, PAT and CollNet
  NcclGraph nvls;
  int channels = 1;           // used by kernels for large messages
  bool same_channels = true;  // every ring has the same GPU order and NIC
  bool plain_tree = false;    // a tree attached to a single GPU per node
  bool has_collnet = false;   // a plugin that reduces in the network (SHARP)

  /// Ranks on the largest node.
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
