#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "topologies/devices/device.hpp"
#include "topologies/import/machine/import_error.hpp"

/// Import of topologies from other tools' formats as cluster files.
namespace lockstep {

struct ImportOptions {
  std::string name;                // of the cluster
  std::optional<Device> device{};  // of its GPUs; none: from the file, or inferred
  /// Overrides the speed of every NIC; adds one NIC per GPU if the file has none.
  std::optional<Rate> nic_speed{};
  std::optional<int> nvswitch_links{};  // per GPU, if the file has no NVLinks
  std::string fabric{};                 // builder that connects the nodes; empty: inferred
};

struct ImportedCluster {
  std::string json;                // a cluster file with the machine as its node
  std::string outline;             // "4 GPUs, 4 NICs of 200 Gb/s, ..."
  std::vector<std::string> notes;  // assumptions and omissions
};

/// Fabrics whose only parameter is their link.
[[nodiscard]] const std::vector<std::string_view>& import_fabrics();

/// Reads an NCCL topology or the output of `nvidia-smi topo -m`, whichever `text` is. A GPU uses
/// its nearest NIC (nearest_nics()). NICs that are nearest to no GPU, and those slower or faster
/// than most, are omitted; several NICs per GPU are combined. Disconnected machines must be equal
/// and become repeated nodes. Throws ConfigError for an invalid file, ImportError for the options.
[[nodiscard]] ImportedCluster import_topology(std::string_view text, const std::string& file,
                                              const ImportOptions& options);

}  // namespace lockstep
