#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sim/program/program.hpp"

namespace lockstep {

/// An instance of a tensor in a role.
struct TensorInstance {
  TensorId tensor = 0;
  int position = 0;    // 0 if the scope has none
  int microbatch = 0;  // the same

  friend auto operator<=>(const TensorInstance&, const TensorInstance&) = default;
};

/// An operation of a role.
struct RoleOperation {
  const Operation* operation = nullptr;  // of the program's routine
  Call call;
  std::uint32_t index_in_routine = 0;
  std::vector<std::uint32_t> reads{};  // indices into RoleProgram::instances
  std::vector<std::uint32_t> writes{};
  /// Operations of other streams, by index, that must have ended: those that write what this one
  /// reads, use what it overwrites, delay it, or, for a barrier, all. Only the last per stream.
  std::vector<std::uint32_t> after{};
};

/// All operations of a role in launch order. Operations of one stream run in this order; across
/// streams only `after` applies.
struct RoleProgram {
  const Program* program = nullptr;
  std::size_t role = 0;
  std::vector<TensorInstance> instances{};
  std::vector<RoleOperation> operations{};

  [[nodiscard]] const Tensor& tensor(std::uint32_t instance) const {
    return program->tensors[instances[instance].tensor];
  }
  /// "layer 3 microbatch 1: mlp.up".
  [[nodiscard]] std::string name(std::uint32_t operation) const;
};

/// Expands a role. The program must outlive the result. Throws InternalError if an operation reads
/// a tensor that is neither resident nor written before.
[[nodiscard]] RoleProgram unroll(const Program& program, std::size_t role);

}  // namespace lockstep
