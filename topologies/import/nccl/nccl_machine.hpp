#pragma once

#include <optional>
#include <string>

#include "topologies/devices/device.hpp"
#include "topologies/import/machine/machine.hpp"
#include "topologies/import/nccl/nccl_xml.hpp"

namespace lockstep {

/// The machine described by an NCCL topology, with NCCL's link parameters. GPUs and NICs are
/// numbered by dev, else by bus id; CPUs by NUMA node; all NVSwitches are combined. GPUs that
/// report more NVLinks than `device`, or the GPUs in the file, have are connected to one NVSwitch.
/// Bridges without GPUs and NICs are omitted. Throws ConfigError for impossible links.
[[nodiscard]] Machine machine_of(const NcclTopology& topology, const std::string& file,
                                 const std::optional<Device>& device = std::nullopt);

}  // namespace lockstep
