#pragma once

#include <vector>

#include "topologies/import/machine/machine.hpp"

namespace lockstep {

struct NearestNic {
  std::size_t nic = 0;               // into Machine::vertices
  std::vector<std::size_t> as_near;  // and as fast; itself among them
};

/// The NIC of every GPU, in the order of the GPUs. The nearest by path type; of several the
/// fastest; of these the one that serves the fewest GPUs so far, then the one that is nearest to
/// the fewest, then the first. Ways do not lead over other GPUs. Throws std::runtime_error where a
/// GPU reaches no NIC.
[[nodiscard]] std::vector<NearestNic> nearest_nics(const Machine& machine);

}  // namespace lockstep
