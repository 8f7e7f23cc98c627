#pragma once

#include <vector>

#include "sim/trace/memory/memory.hpp"

namespace lockstep {

/// Bytes of each of a role's instances on one rank.
[[nodiscard]] std::vector<Bytes> instance_bytes(const RoleProgram& role);
/// Whether an instance is in host memory.
[[nodiscard]] bool held_by_host(const RoleProgram& role, std::uint32_t instance);
/// Descending by bytes, then ascending by index.
void sort_largest_first(std::vector<HeldInstance>& instances);

}  // namespace lockstep
