#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/program/unroll.hpp"
#include "strategies/step/build_program.hpp"

/// Training steps to look into: the program of a model under a layout, every role written out.
namespace lockstep::test {

/// GPT's layers on `shape`: head size hidden / heads, and as many heads of keys as of queries and
/// four times the hidden size inside where `shape` leaves them at 1.
[[nodiscard]] ModelConfig transformer(TransformerConfig shape);

/// One communication of a role, as it stands in the role's program.
struct Message {
  const Operation* operation = nullptr;
  const RoleOperation* in_role = nullptr;
  std::string routine;
  /// What contracts count (sim/schedule/contract.hpp): the larger of what is read and written.
  std::int64_t bytes = 0;
  int members = 1;  // ranks along the communicator

  [[nodiscard]] const std::string& group() const { return operation->communication->group; }
  [[nodiscard]] Collective collective() const { return operation->communication->collective; }
};

struct Traffic {
  std::int64_t count = 0;
  std::int64_t bytes = 0;

  friend bool operator==(const Traffic&, const Traffic&) = default;
};

class TrainingStepUnderTest {
 public:
  TrainingStepUnderTest(const ModelConfig& model, ParallelConfig parallel, int gpus_per_node = 8);

  [[nodiscard]] const Program& program() const { return program_; }
  [[nodiscard]] const Mesh& mesh() const { return program_.mesh; }
  [[nodiscard]] const RoleProgram& role(std::size_t index = 0) const { return roles_.at(index); }
  [[nodiscard]] const std::vector<RoleProgram>& roles() const { return roles_; }

  /// Collectives, sends and receives of a role, in its order.
  [[nodiscard]] const std::vector<Message>& messages(std::size_t role = 0) const {
    return messages_.at(role);
  }
  /// Count and bytes of the collectives of one kind in one group; `routine` empty: of all routines.
  [[nodiscard]] Traffic traffic(std::string_view group, Collective collective,
                                std::string_view routine = {}, std::size_t role = 0) const;
  /// Of all collectives of a group.
  [[nodiscard]] Traffic traffic(std::string_view group, std::size_t role = 0) const;
  /// Of operations of one kind (send, receive, host_copy) and name.
  [[nodiscard]] Traffic traffic(OperationKind kind, std::string_view name,
                                std::size_t role = 0) const;

  /// The tensor of that name; the first where there are several. Errors: InternalError for none.
  [[nodiscard]] const Tensor& tensor(std::string_view name) const;
  [[nodiscard]] std::int64_t bytes_of(std::string_view tensor) const;
  [[nodiscard]] RoutineId routine(std::string_view name) const;
  /// Ranks that play a role.
  [[nodiscard]] int players(std::size_t role) const;

 private:
  Program program_;
  std::vector<RoleProgram> roles_;
  std::vector<std::vector<Message>> messages_;
};

}  // namespace lockstep::test
