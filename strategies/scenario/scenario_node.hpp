#pragma once

#include <optional>

#include "sim/config/json.hpp"
#include "strategies/scenario/scenario_files.hpp"
#include "topologies/devices/device.hpp"

/// Clusters of equal nodes in a few figures, as tables of measured runs give them.
namespace lockstep {

struct NodeFigures {
  Device device;
  std::int64_t gpus = 1;
  std::int64_t gpus_per_node = 8;
  std::string intra = "nvswitch";  // nvswitch, nvlink-mesh, nvl72 or pcie
  std::int64_t nics_per_node = 8;
  double nic_gbps = 0;  // 10^9 bits per second; 0: as the reference's
  std::string fabric = "infiniband";
  std::int64_t pcie = 0;  // generation of GPUs and NICs; 0: by device and NIC
};

/// {gpu, gpus, gpus_per_node, intra, nics_per_node, nic_gbps, pcie, fabric}. Left out:
/// gpus_per_node 8 (72 with nvl72, no more than gpus), intra as the GPU's links are (NVLink:
/// nvswitch, xGMI: nvlink-mesh, none: pcie; a rack's GPU without gpus_per_node: nvl72),
/// nics_per_node one for each GPU, nic_gbps as the reference's, fabric infiniband, pcie the
/// device's generation and 6 of NICs above 400 Gb/s. Empty where something is wrong, which is
/// noted.
[[nodiscard]] std::optional<NodeFigures> read_node_figures(ObjectReader& in,
                                                           const ScenarioFolders& folders);

/// The `cluster` part that says these figures.
[[nodiscard]] JsonValue json_of(const NodeFigures& figures);

/// The cluster file (topologies/files/cluster_file.hpp) that these figures amount to. Latencies,
/// efficiencies, PCIe and sockets are those of a reference: the shipped cluster whose device is the
/// same; else the first (by name) whose device has the same generation of PCIe and links of the
/// same bandwidth; else the first with the same PCIe. Eight GPUs with eight NICs, and all of nvl72,
/// are built like the reference; other nodes have one PCIe switch for each NIC, two at least, the
/// GPUs spread over them, under two sockets. NVLink: what the device's links carry together; a
/// cable through a switch has half the latency of a direct one. More NICs than GPUs are one NIC for
/// each GPU, as fast as its share of all. The fabric is the reference's, with as fast links as the
/// NICs, whatever its make (RoCE, EFA, Slingshot and Omni-Path included: no latencies of theirs are
/// shipped). Throws ConfigError where there is no reference.
[[nodiscard]] JsonDocument cluster_document(const NodeFigures& figures,
                                            const ScenarioFolders& folders);

}  // namespace lockstep
