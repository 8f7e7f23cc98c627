#pragma once

#include "sim/network/network.hpp"
#include "strategies/measure/machine/measured_machine.hpp"

namespace lockstep {

/// The GPUs of a machine with their memories: endpoint 2d is where the ranks of GPU d run, 2d + 1
/// is its memory. Copies within a GPU share its memory; those between two share their link, its
/// ways, and what a GPU sends and receives in all.
[[nodiscard]] Network box_network(const MachineFit& fit, int devices);

[[nodiscard]] inline EndpointId ranks_of(int device) {
  return static_cast<EndpointId>(2 * device);
}
[[nodiscard]] inline EndpointId memory_of(int device) {
  return static_cast<EndpointId>(2 * device + 1);
}

}  // namespace lockstep
