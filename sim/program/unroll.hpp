#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sim/program/program.hpp"

namespace lockstep {

/// One tensor as a role holds it.
struct TensorInstance {
  TensorId tensor = 0;
  int position = 0;    // 0 where the scope has none
  int microbatch = 0;  // likewise

  friend auto operator<=>(const TensorInstance&, const TensorInstance&) = default;
};

/// One operation of a role, written out.
struct RoleOperation {
  const Operation* operation = nullptr;  // of the program's routine
  Call call;
  std::uint32_t index_in_routine = 0;
  std::vector<std::uint32_t> reads{};  // into RoleProgram::instances
  std::vector<std::uint32_t> writes{};
  /// Operations of other streams, by index, that must have ended before: those that write what this
  /// reads, read what it overwrites, or wrote it before; what blocks it; of a barrier all. Of each
  /// stream only the last.
  std::vector<std::uint32_t> after{};
};

/// All that the ranks of a role do, in the order in which they issue it. Within a stream operations
/// run in this order; across streams only `after` holds.
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

/// The program must outlive what comes out.
/// Errors: InternalError where an operation reads a tensor that is not resident and that nobody has
/// written.
[[nodiscard]] RoleProgram unroll(const Program& program, std::size_t role);

}  // namespace lockstep
