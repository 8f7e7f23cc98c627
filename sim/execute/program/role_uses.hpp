#pragma once

#include <cstdint>
#include <vector>

#include "sim/program/unroll.hpp"

namespace lockstep::execution {

/// Who uses the instances of a role, counted in the order in which its operations are issued.
struct RoleUses {
  std::vector<std::uint32_t> uses{};  // per instance: reads and writes
  /// Per operation and operand, before that operation: writes of what it reads, uses of what it
  /// writes.
  std::vector<std::vector<std::uint32_t>> written_before{};
  std::vector<std::vector<std::uint32_t>> used_before{};
};
[[nodiscard]] RoleUses uses_of(const RoleProgram& role);

}  // namespace lockstep::execution
