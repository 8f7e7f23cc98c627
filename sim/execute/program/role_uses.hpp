#pragma once

#include <cstdint>
#include <vector>

#include "sim/program/unroll.hpp"

namespace lockstep::execution {

/// Uses of a role's tensor instances in launch order.
struct RoleUses {
  std::vector<std::uint32_t> uses{};  // per instance: reads and writes
  /// Per operation and operand: earlier writes of a read instance, earlier uses of a written one.
  std::vector<std::vector<std::uint32_t>> written_before{};
  std::vector<std::vector<std::uint32_t>> used_before{};
};
[[nodiscard]] RoleUses uses_of(const RoleProgram& role);

}  // namespace lockstep::execution
