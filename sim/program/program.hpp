#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/program/mesh.hpp"
#include "sim/program/operation.hpp"
#include "sim/program/tensor.hpp"

/// A training step as plain data. A model is a chain of blocks; block i stands at position i and
/// takes the residual stream from position i to i + 1. What a block does is written down once, as
/// routines (lists of operations); a role is a list of calls of routines, each for a position and a
/// microbatch. Ranks of a role differ in their coordinates only. So a program's size follows the
/// kinds of blocks and the depth and microbatches of a stage, not the number of ranks; unroll()
/// writes out what one role does.
///
/// It holds enough for every interpreter: the engine asks for streams and kernels, the memory
/// account for lifetimes, the executor for values.
namespace lockstep {

using RoutineId = std::uint32_t;

/// Operations in the order in which a rank issues them, each to its stream.
struct Routine {
  std::string name;  // "layer.forward"
  std::vector<Operation> operations{};
};

/// A routine, for one position and microbatch.
struct Call {
  RoutineId routine = 0;
  int position = 0;
  int microbatch = 0;
};

/// What ranks with the same coordinates along `fixed` do.
struct Role {
  std::string name;  // "stage 3", "server 0"
  /// Coordinates that choose the ranks of the role; atoms left out are free.
  std::vector<std::pair<AtomId, int>> fixed{};
  bool host = false;  // played by a host instead
  std::vector<Call> calls{};
};

struct Program {
  Mesh mesh;
  std::vector<Tensor> tensors{};
  std::vector<Routine> routines{};
  std::vector<std::string> streams{"compute"};
  std::vector<Role> roles{};  // those of ranks first, then hosts

  TensorId add(Tensor tensor);
  RoutineId add(Routine routine);
  /// The stream of that name, made where it is new.
  StreamId stream(std::string_view name);
  /// Index of the role of a rank.
  [[nodiscard]] std::size_t role_of(int rank) const;
  /// The lowest rank of a role of ranks.
  [[nodiscard]] int first_rank(const Role& role) const;
};

}  // namespace lockstep
