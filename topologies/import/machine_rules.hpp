#pragma once

#include "topologies/import/machine.hpp"

namespace lockstep {

/// The machine's parts that nothing joins, each with its GPUs; parts without any are dropped.
[[nodiscard]] std::vector<Machine> apart(const Machine& machine);

/// Keeps only the fastest NICs.
void drop_slow_nics(Machine& machine);

/// Puts a NIC of that speed beside every GPU, on what the GPU hangs on.
void add_nics(Machine& machine, const NicSpeed& speed);

/// The rail of every GPU, by its index among the GPUs; NICs are then those of rails 0, 1 and so on,
/// in order: those that serve no GPU are gone, several that hang on the same for the same GPUs are
/// one. Throws std::runtime_error where a GPU reaches no NIC.
[[nodiscard]] std::vector<int> settle_nics(Machine& machine);

}  // namespace lockstep
