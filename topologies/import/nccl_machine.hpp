#pragma once

#include <string>

#include "topologies/import/machine.hpp"
#include "topologies/import/nccl_xml.hpp"

namespace lockstep {

/// The machine that an NCCL topology describes, its links with NCCL's figures. GPUs are numbered by
/// dev, else by bus id; so are NICs; CPUs by NUMA node; all NVSwitches are one. Bridges that lead
/// to no GPU and no NIC are left out. Throws ConfigError for links that cannot be.
[[nodiscard]] Machine machine_of(const NcclTopology& topology, const std::string& file);

}  // namespace lockstep
