#pragma once

#include <vector>

#include "topologies/import/machine/machine.hpp"

namespace lockstep {

struct NearestNic {
  std::size_t nic = 0;               // index in Machine::vertices
  std::vector<std::size_t> as_near;  // equally near and fast ones, including itself
};

/// The NIC of every GPU, in order. The nearest by path type; among those the fastest; then the one
/// serving the fewest GPUs so far, then the one nearest to the fewest GPUs, then the first. Paths
/// do not cross other GPUs. Throws std::runtime_error if a GPU reaches no NIC.
[[nodiscard]] std::vector<NearestNic> nearest_nics(const Machine& machine);

}  // namespace lockstep
