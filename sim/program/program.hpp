#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/program/mesh.hpp"
#include "sim/program/operation.hpp"
#include "sim/program/tensor.hpp"

/// A training step as plain data. A model is a chain of blocks; block i maps the residual stream
/// from position i to i + 1. A block's work is stored once, as routines (lists of operations); a
/// role is a list of calls of routines, each for a position and a microbatch. Ranks of a role
/// differ only in their mesh coordinates. So the size of a program depends on the kinds of blocks
/// and on a stage's depth and microbatches, not on the number of ranks; unroll() expands one role.
/// Contains what every interpreter needs: streams and kernels for the engine, lifetimes for the
/// memory account, values for the executor.
namespace lockstep {

using RoutineId = std::uint32_t;

/// Operations in launch order, each with its stream.
struct Routine {
  std::string name;  // "layer.forward"
  std::vector<Operation> operations{};
};

/// A call of a routine for one position and microbatch.
struct Call {
  RoutineId routine = 0;
  int position = 0;
  int microbatch = 0;
};

/// The calls of all ranks with certain coordinates.
struct Role {
  std::string name;  // "stage 3", "server 0"
  /// Coordinates of the role's ranks; other sub-axes are free.
  std::vector<std::pair<AtomId, int>> fixed{};
  bool host = false;  // executed by a host instead
  std::vector<Call> calls{};
};

/// Casts of operands of GEMMs to at most 8 bits.
struct CastFigures {
  double kernels = 0;  // per operand
  double traffic = 0;  // bytes moved per element

  friend bool operator==(const CastFigures&, const CastFigures&) = default;
};

struct Program {
  Mesh mesh;
  CastFigures casts{};
  std::vector<Tensor> tensors{};
  std::vector<Routine> routines{};
  std::vector<std::string> streams{"compute"};
  std::vector<Role> roles{};  // ranks' roles first, then hosts'

  TensorId add(Tensor tensor);
  RoutineId add(Routine routine);
  /// The stream with that name, created if needed.
  StreamId stream(std::string_view name);
  /// Index of the role of a rank.
  [[nodiscard]] std::size_t role_of(int rank) const;
  /// The lowest rank of a role.
  [[nodiscard]] int first_rank(const Role& role) const;
};

}  // namespace lockstep
