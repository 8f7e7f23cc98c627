#pragma once

#include <optional>
#include <set>
#include <vector>

#include "topologies/import/machine/machine.hpp"

namespace lockstep {

/// The machine reduced to these vertices, in order.
[[nodiscard]] Machine subset(const Machine& machine, const std::set<std::size_t>& kept);

/// The machine's connected components that contain GPUs.
[[nodiscard]] std::vector<Machine> connected_components(const Machine& machine);

/// Adds a NIC of that speed at every GPU's parent.
void add_nics(Machine& machine, const NicSpeed& speed);

/// The rail of every GPU, by index among the GPUs, from nearest_nics(). Reduces the NICs to those
/// of rails 0, 1 and so on: unused NICs are removed, and several at the same place for the same
/// GPUs are combined. All get the requested speed; without one, NICs that differ from the most
/// common speed are removed too. Throws std::runtime_error if a GPU reaches no NIC, OutOfRange if a
/// combined NIC is too fast.
[[nodiscard]] std::vector<int> settle_nics(Machine& machine,
                                           const std::optional<NicSpeed>& asked_for);

}  // namespace lockstep
