#pragma once

#include <optional>
#include <set>
#include <vector>

#include "topologies/import/machine/machine.hpp"

namespace lockstep {

/// The machine with only these vertices, in its order.
[[nodiscard]] Machine only(const Machine& machine, const std::set<std::size_t>& kept);

/// The machine's parts that nothing joins, each with its GPUs; parts without any are dropped.
[[nodiscard]] std::vector<Machine> apart(const Machine& machine);

/// Puts a NIC of that speed next to every GPU, on what the GPU hangs on.
void add_nics(Machine& machine, const NicSpeed& speed);

/// The rail of every GPU, by its index among the GPUs, as nearest_nics() chooses; NICs are then
/// those of rails 0, 1 and so on, in order: those that serve no GPU are gone, several that hang on
/// the same for the same GPUs are one. All are as fast as is asked for; else those of another speed
/// than most that serve GPUs are gone as well. Throws std::runtime_error where a GPU reaches no
/// NIC, OutOfRange where several as one are too fast.
[[nodiscard]] std::vector<int> settle_nics(Machine& machine,
                                           const std::optional<NicSpeed>& asked_for);

}  // namespace lockstep
