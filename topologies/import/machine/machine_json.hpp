#pragma once

#include <optional>
#include <string>
#include <vector>

#include "topologies/import/machine/machine.hpp"

namespace lockstep {

/// Contents of a cluster file other than its node.
struct ClusterHead {
  std::string name;
  std::string summary;
  std::string device;
  int nodes = 1;
  std::string fabric;                 // builder; empty: none
  std::optional<SourcedLink> link{};  // of the fabric
};

/// A cluster file (configs/schema/cluster.schema.json) with the machine as its node. `rails`: rail
/// of every GPU; NICs are on rails 0, 1 and so on.
[[nodiscard]] std::string cluster_json(const ClusterHead& head, const Machine& machine,
                                       const std::vector<int>& rails);

}  // namespace lockstep
