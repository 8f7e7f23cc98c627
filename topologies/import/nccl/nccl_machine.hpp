#pragma once

#include <optional>
#include <string>

#include "topologies/devices/device.hpp"
#include "topologies/import/machine/machine.hpp"
#include "topologies/import/nccl/nccl_xml.hpp"

namespace lockstep {

/// The machine that an NCCL topology describes, its links with NCCL's figures. GPUs are numbered by
/// dev, else by bus id; so are NICs; CPUs by NUMA node; all NVSwitches are one. GPUs that tell more
/// NVLinks than they have, `device` or those that the file names, have theirs to one NVSwitch.
/// Bridges that lead to no GPU and no NIC are left out. Throws ConfigError for links that cannot
/// be.
[[nodiscard]] Machine machine_of(const NcclTopology& topology, const std::string& file,
                                 const std::optional<Device>& device = std::nullopt);

}  // namespace lockstep
