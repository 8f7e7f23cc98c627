#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/program/unroll.hpp"

namespace lockstep {

/// Numbers the tensor instances of a role in the order in which its calls name them. Numbers lie in
/// one array, a cell per tensor, position and microbatch that calls can name.
class RoleInstances {
 public:
  RoleInstances(const Program& program, std::size_t role);

  /// The instances that a call names, operation after operation, of each what it reads and then
  /// what it writes. New ones are added to `instances`. Valid until the next call.
  /// Errors: InternalError where a position or microbatch is negative or above a million.
  [[nodiscard]] std::span<const std::uint32_t> of(const Call& call,
                                                  std::vector<TensorInstance>& instances);

 private:
  static constexpr int kMost = 1 << 20;  // positions, microbatches

  /// A tensor as a routine names it; a routine's operands name most of them several times.
  struct Name {
    Ref ref;
    Scope scope = Scope::step;
  };
  struct RoutineNames {
    bool known = false;
    std::vector<Name> names{};                // in the order in which operands name them
    std::vector<std::uint32_t> of_operand{};  // into names
  };
  /// Cells of a tensor: positions first_position to last_position, each with its microbatches.
  struct Cells {
    bool used = false;
    std::size_t first = 0;
    int first_position = 0;
    int last_position = 0;
  };

  void add_names(RoutineId routine);
  void add_operands(const std::vector<Ref>& refs, RoutineNames& names) const;
  void note_positions(RoutineId routine, int position);
  void place_cells();
  [[nodiscard]] static int position_of(const Name& name, int call_position);
  [[nodiscard]] TensorInstance instance_of(const Name& name, const Call& call) const;
  [[nodiscard]] std::size_t cell_of(const Name& name, const TensorInstance& instance) const;

  const Program& program_;
  std::vector<RoutineNames> routines_;
  std::vector<Cells> cells_;                      // per tensor
  std::vector<std::uint32_t> place_of_position_;  // among those that are named
  int microbatches_ = 1;
  std::vector<std::uint32_t> numbers_;   // per cell; kNone: not met yet
  std::vector<std::uint32_t> of_name_;   // of the current call
  std::vector<std::uint32_t> operands_;  // of the current call
};

}  // namespace lockstep
