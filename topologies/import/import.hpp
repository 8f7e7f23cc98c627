#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "topologies/devices/device.hpp"
#include "topologies/import/machine/import_error.hpp"

/// Topologies as other tools write them, made to cluster files.
namespace lockstep {

struct ImportOptions {
  std::string name;                // of the cluster
  std::optional<Device> device{};  // what its GPUs are; else as the file says, or what is likely
  /// Of every NIC, whatever the file says; gives every GPU one where the file has none.
  std::optional<Rate> nic_speed{};
  std::optional<int> nvswitch_links{};  // of every GPU, where the file tells no NVLinks
  std::string fabric{};                 // builder that joins the nodes; empty: what fits
};

struct ImportedCluster {
  std::string json;                // a cluster file with the machine as its node
  std::string outline;             // "4 GPUs, 4 NICs of 200 Gb/s, ..."
  std::vector<std::string> notes;  // what had to be assumed, or was left out
};

/// Fabrics without parameters except their link.
[[nodiscard]] const std::vector<std::string_view>& import_fabrics();

/// Reads an NCCL topology or the output of `nvidia-smi topo -m`, whichever `text` is. A GPU has the
/// nearest NIC, see nearest_nics(). NICs that are nearest to none, and those of another speed than
/// most of the others, are left out; several NICs for each GPU are taken as one. Machines that
/// nothing joins must be alike; the node is then there as often. Throws ConfigError with what is
/// wrong with the file, ImportError for the options.
[[nodiscard]] ImportedCluster import_topology(std::string_view text, const std::string& file,
                                              const ImportOptions& options);

}  // namespace lockstep
