#pragma once

#include "topologies/devices/device.hpp"
#include "topologies/import/machine/machine.hpp"
#include "topologies/import/smi/smi_matrix.hpp"

namespace lockstep {

/// The machine behind the matrix: devices one bridge apart share a PCIe switch, several bridges
/// apart two of them, and all that stays within a NUMA node its CPU. Where every pair of GPUs has
/// more NVLinks than a GPU could have to each other one, an NVSwitch joins them. The generations of
/// PCIe and NVLink are the device's; where none is given, those of the likeliest with so many
/// NVLinks.
[[nodiscard]] Machine machine_of(const SmiMatrix& matrix, const std::optional<Device>& device);

}  // namespace lockstep
