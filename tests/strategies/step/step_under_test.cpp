#include "tests/strategies/step/step_under_test.hpp"

#include <algorithm>

#include "sim/base/check.hpp"
#include "strategies/step/lowering/lowering.hpp"

namespace lockstep::test {

namespace {

[[nodiscard]] bool has_peers(OperationKind kind) {
  return kind == OperationKind::collective || kind == OperationKind::send ||
         kind == OperationKind::receive;
}

[[nodiscard]] std::vector<Message> messages_of(const RoleProgram& role) {
  std::vector<Message> out;
  for (const RoleOperation& operation : role.operations) {
    if (!has_peers(operation.operation->kind)) continue;
    Message message;
    message.operation = operation.operation;
    message.in_role = &operation;
    message.routine = role.program->routines[operation.call.routine].name;
    message.bytes = message_of(role, operation).count();
    message.members = role.program->mesh.size(operation.operation->communication->over);
    out.push_back(std::move(message));
  }
  return out;
}

template <class Wanted>
[[nodiscard]] Traffic sum_of(const std::vector<Message>& messages, Wanted&& wanted) {
  Traffic out;
  for (const Message& message : messages) {
    if (!wanted(message)) continue;
    ++out.count;
    out.bytes += message.bytes;
  }
  return out;
}

}  // namespace

ModelConfig transformer(TransformerConfig shape) {
  if (shape.ffn == 1) shape.ffn = 4 * shape.hidden;
  if (shape.kv_heads == 1) shape.kv_heads = shape.heads;
  if (shape.head_size == 1) shape.head_size = shape.hidden / shape.heads;
  ModelConfig out;
  out.name = "test";
  out.shape = shape;
  return out;
}

TrainingStepUnderTest::TrainingStepUnderTest(const ModelConfig& model, ParallelConfig parallel,
                                             int gpus_per_node)
    : program_{build_program(model, parallel, gpus_per_node)} {
  for (std::size_t i = 0; i < program_.roles.size(); ++i) roles_.push_back(unroll(program_, i));
  for (const RoleProgram& role : roles_) messages_.push_back(messages_of(role));
}

Traffic TrainingStepUnderTest::traffic(std::string_view group, Collective collective,
                                       std::string_view routine, std::size_t role) const {
  return sum_of(messages(role), [&](const Message& message) {
    return message.operation->kind == OperationKind::collective && message.group() == group &&
           message.collective() == collective && (routine.empty() || message.routine == routine);
  });
}

Traffic TrainingStepUnderTest::traffic(std::string_view group, std::size_t role) const {
  return sum_of(messages(role), [&](const Message& message) {
    return message.operation->kind == OperationKind::collective && message.group() == group;
  });
}

Traffic TrainingStepUnderTest::traffic(OperationKind kind, std::string_view name,
                                       std::size_t role) const {
  Traffic out;
  for (const RoleOperation& operation : roles_.at(role).operations) {
    if (operation.operation->kind != kind || operation.operation->name != name) continue;
    ++out.count;
    out.bytes += message_of(roles_.at(role), operation).count();
  }
  return out;
}

const Tensor& TrainingStepUnderTest::tensor(std::string_view name) const {
  const auto found = std::find_if(program_.tensors.begin(), program_.tensors.end(),
                                  [&](const Tensor& tensor) { return tensor.name == name; });
  LOCKSTEP_CHECK(found != program_.tensors.end());
  return *found;
}

std::int64_t TrainingStepUnderTest::bytes_of(std::string_view name) const {
  return local_bytes(program_.mesh, tensor(name)).count();
}

RoutineId TrainingStepUnderTest::routine(std::string_view name) const {
  const auto found = std::find_if(program_.routines.begin(), program_.routines.end(),
                                  [&](const Routine& routine) { return routine.name == name; });
  LOCKSTEP_CHECK(found != program_.routines.end());
  return static_cast<RoutineId>(found - program_.routines.begin());
}

int TrainingStepUnderTest::players(std::size_t role) const {
  int out = 0;
  if (program_.roles[role].host) return 1;
  for (int rank = 0; rank < program_.mesh.ranks(); ++rank) {
    if (program_.role_of(rank) == role) ++out;
  }
  return out;
}

}  // namespace lockstep::test
