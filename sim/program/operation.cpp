#include "sim/program/operation.hpp"

#include <array>

#include "sim/base/check.hpp"

namespace lockstep {

std::string to_string(Operand operand) {
  const auto name = operands::kNames[static_cast<std::size_t>(without_gradient(operand))];
  return (is_gradient(operand) ? "g_" : "") + std::string{name};
}

std::string_view to_string(OperationClass of) {
  static constexpr std::array<std::string_view, kOperationClasses> kNames{
      "matmul", "attention", "normalization", "activation", "elementwise", "embedding",
      "loss",   "routing",   "convolution",   "optimizer",  "copy",        "communication"};
  return kNames[static_cast<std::size_t>(of)];
}

std::string_view to_string(Purpose purpose) {
  static constexpr std::array<std::string_view, 5> kNames{"forward", "backward", "recompute",
                                                          "update", "communication"};
  return kNames[static_cast<std::size_t>(purpose)];
}

std::size_t read_index(const Operation& operation, Operand operand) {
  const auto place = read_place(operation, operand);
  LOCKSTEP_CHECK(place);
  return *place;
}

std::size_t write_index(const Operation& operation, Operand operand) {
  const auto place = write_place(operation, operand);
  LOCKSTEP_CHECK(place);
  return *place;
}

const Ref& read_of(const Operation& operation, Operand operand) {
  return operation.reads[read_index(operation, operand)];
}

const Ref& write_of(const Operation& operation, Operand operand) {
  return operation.writes[write_index(operation, operand)];
}

const Ref& carried(const Operation& message) {
  return reads(message, Operand::x) ? read_of(message, Operand::x) : write_of(message, Operand::x);
}

Ref& read_of(Operation& operation, Operand operand) {
  return operation.reads[read_index(operation, operand)];
}

Ref& write_of(Operation& operation, Operand operand) {
  return operation.writes[write_index(operation, operand)];
}

}  // namespace lockstep
