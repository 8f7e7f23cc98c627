#pragma once

#include <optional>

#include "sim/config/json/json.hpp"
#include "strategies/scenario/scenario_files.hpp"
#include "topologies/devices/device.hpp"

/// Clusters of equal nodes from a short summary, as tables of measured runs give it.
namespace lockstep {

struct NodeFigures {
  Device device;
  std::int64_t gpus = 1;
  std::int64_t gpus_per_node = 8;
  std::string intra = "nvswitch";  // nvswitch, nvlink-mesh, nvl72 or pcie
  std::int64_t nics_per_node = 8;
  double nic_gbps = 0;  // 10^9 bits per second; 0: the reference's
  std::string fabric = "infiniband";
  std::int64_t pcie = 0;  // generation of GPUs and NICs; 0: derived from device and NIC
};

/// Reads {gpu, gpus, gpus_per_node, intra, nics_per_node, nic_gbps, pcie, fabric}. Defaults:
/// gpus_per_node 8 (with nvl72 rack_gpus(); at most gpus), intra by the GPU's links (NVLink:
/// nvswitch, xGMI: nvlink-mesh, none: pcie; a rack GPU without gpus_per_node: nvl72), nics_per_node
/// one per GPU, nic_gbps the reference's, fabric infiniband, pcie the device's generation, or 6
/// with NICs above 400 Gb/s. Empty if a problem was reported.
[[nodiscard]] std::optional<NodeFigures> read_node_figures(ObjectReader& in,
                                                           const ScenarioFolders& folders);

/// The `cluster` part with these values.
[[nodiscard]] JsonValue json_of(const NodeFigures& figures);

/// Whether the job's trays are spread over racks of which some have one tray less than
/// gpus_per_node, so that only the number of ranks says how.
[[nodiscard]] bool has_unequal_racks(const NodeFigures& figures);

/// The cluster file (topologies/files/cluster_file.hpp) for a node summary.
/// Latencies, efficiencies, PCIe and sockets come from a reference: the shipped cluster with the
/// same device; else the first by name whose device has the same PCIe generation and link
/// bandwidth; else the first with the same PCIe generation.
/// Eight GPUs with eight NICs, and nvl72, are built like the reference. Other nodes get two sockets
/// and one PCIe switch per NIC, at least two, with the GPUs distributed over them. NVLink has the
/// total bandwidth of the device's links; a link to a switch has half the latency of a direct one.
/// More NICs than GPUs become one NIC per GPU with its share of the total bandwidth. The fabric is
/// the reference's at the NICs' bandwidth, with the transport of that name of a shipped cluster
/// (EFA; the latencies of RoCE, Slingshot and Omni-Path are not shipped).
/// Of unequal racks the file has the size of the largest; ranks say which are smaller.
/// Throws ConfigError if there is no reference.
[[nodiscard]] JsonDocument cluster_document(const NodeFigures& figures,
                                            const ScenarioFolders& folders);

}  // namespace lockstep
