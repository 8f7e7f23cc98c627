#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
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

/// Indices that an operation of a role refers to; the role program holds them.
class IndexList : public std::span<const std::uint32_t> {
 public:
  using span::span;
  void clear() { *this = {}; }

  friend bool operator==(const IndexList& a, const IndexList& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }
};

/// An operation of a role.
struct RoleOperation {
  const Operation* operation = nullptr;  // of the program's routine
  Call call;
  std::uint32_t index_in_routine = 0;
  IndexList reads{};  // indices into RoleProgram::instances
  IndexList writes{};
  /// Operations of other streams, by index, that must have ended: those that write what this one
  /// reads, use what it overwrites, delay it, or, for a barrier, all. Only the last per stream.
  IndexList after{};
};

/// What an operation of a role reads or writes as an operand: an index into RoleProgram::instances.
/// Throw InternalError where it has none.
[[nodiscard]] inline std::uint32_t read_of(const RoleOperation& of, Operand operand) {
  return of.reads[read_index(*of.operation, operand)];
}
[[nodiscard]] inline std::uint32_t write_of(const RoleOperation& of, Operand operand) {
  return of.writes[write_index(*of.operation, operand)];
}
/// What a send or a receive carries.
[[nodiscard]] inline std::uint32_t carried(const RoleOperation& message) {
  return reads(*message.operation, Operand::x) ? read_of(message, Operand::x)
                                               : write_of(message, Operand::x);
}

/// All operations of a role in launch order. Operations of one stream run in this order; across
/// streams only `after` applies.
struct RoleProgram {
  const Program* program = nullptr;
  std::size_t role = 0;
  std::vector<TensorInstance> instances{};
  std::vector<RoleOperation> operations{};
  std::shared_ptr<const std::uint32_t[]> lists{};  // what the operations' lists point to

  [[nodiscard]] const Tensor& tensor(std::uint32_t instance) const {
    return program->tensors[instances[instance].tensor];
  }
  /// "layer 3 microbatch 1: mlp.up".
  [[nodiscard]] std::string name(std::uint32_t operation) const;
};

/// Expands a role. The program must outlive the result. Throws InternalError if an operation reads
/// a tensor that is neither resident nor written before.
[[nodiscard]] RoleProgram unroll(const Program& program, std::size_t role);

/// The programs of all roles, as Program::roles. Copies share them.
class RolePrograms {
 public:
  RolePrograms() : RolePrograms{std::vector<RoleProgram>{}} {}
  RolePrograms(std::vector<RoleProgram> roles)
      : roles_{std::make_shared<const std::vector<RoleProgram>>(std::move(roles))} {}

  [[nodiscard]] const std::vector<RoleProgram>& all() const { return *roles_; }
  [[nodiscard]] const RoleProgram& operator[](std::size_t role) const { return (*roles_)[role]; }
  [[nodiscard]] const RoleProgram& at(std::size_t role) const { return roles_->at(role); }
  [[nodiscard]] const RoleProgram& front() const { return roles_->front(); }
  [[nodiscard]] std::size_t size() const { return roles_->size(); }
  [[nodiscard]] const RoleProgram* data() const { return roles_->data(); }
  [[nodiscard]] auto begin() const { return roles_->begin(); }
  [[nodiscard]] auto end() const { return roles_->end(); }

 private:
  std::shared_ptr<const std::vector<RoleProgram>> roles_;
};

/// unroll() of each role.
[[nodiscard]] RolePrograms unroll(const Program& program);

}  // namespace lockstep
