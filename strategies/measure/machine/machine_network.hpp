#pragma once

#include "sim/network/network.hpp"
#include "strategies/calibration/measured_machine.hpp"

namespace lockstep {

/// The GPUs of a machine and their memories as a network: endpoint 2d is GPU d, 2d + 1 its memory.
/// Copies within a GPU share its memory bandwidth; copies between GPUs share their link, both
/// directions of it, and each GPU's total send and receive bandwidth.
[[nodiscard]] Network machine_network(const MachineFit& fit, int devices);

[[nodiscard]] inline EndpointId ranks_of(int device) {
  return static_cast<EndpointId>(2 * device);
}
[[nodiscard]] inline EndpointId memory_of(int device) {
  return static_cast<EndpointId>(2 * device + 1);
}

}  // namespace lockstep
