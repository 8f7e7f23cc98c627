#pragma once

#include "topologies/devices/device.hpp"
#include "topologies/import/machine/machine.hpp"
#include "topologies/import/smi/smi_matrix.hpp"

namespace lockstep {

/// The machine described by the matrix: devices one bridge apart share a PCIe switch, devices
/// several bridges apart are on two of them, and everything within a NUMA node is on its CPU. If
/// every pair of GPUs has more NVLinks than a GPU could have to each other one, an NVSwitch
/// connects them. Generations of PCIe and NVLink are those of `device`, else of the most likely GPU
/// with that many NVLinks.
[[nodiscard]] Machine machine_of(const SmiMatrix& matrix, const std::optional<Device>& device);

}  // namespace lockstep
