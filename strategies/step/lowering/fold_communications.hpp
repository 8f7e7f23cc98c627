#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "sim/program/unroll.hpp"
#include "strategies/sharding/experts/unequal_experts.hpp"

namespace lockstep {

/// A communication of a training step, identified by its participants and size, not by its time.
struct TrainingStepCommunication {
  OperationKind kind = OperationKind::collective;  // or send, receive
  Communication how{};                             // `only` is empty if all take part
  Bytes message{};
  std::optional<TokenSkew> skew{};  // of collectives
  std::uint32_t channel = 0;        // equal at both ends of a message; one per collective
  std::uint32_t communicator = 0;   // of collectives; calls of one communicator are ordered
};

/// The distinct communications of a program, with their groups.
class TrainingStepCommunications {
 public:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  /// Keeps a reference to the roles.
  TrainingStepCommunications(const Program& program, const std::vector<RoleProgram>& roles);

  [[nodiscard]] const TrainingStepCommunication& operator[](std::uint32_t id) const {
    return all_[id];
  }
  [[nodiscard]] std::size_t size() const { return all_.size(); }
  /// Communications of a role, in the order of first use.
  [[nodiscard]] std::span<const std::uint32_t> of_role(std::size_t role) const {
    return of_role_[role];
  }
  /// How often the role executes each of these.
  [[nodiscard]] std::span<const std::uint32_t> times_in_role(std::size_t role) const {
    return times_in_role_[role];
  }
  /// The communication of an operation; kNone for computation, groups of one and empty messages.
  [[nodiscard]] std::uint32_t of(const Operation& operation) const;
  [[nodiscard]] std::uint32_t communicators() const {
    return static_cast<std::uint32_t>(communicators_.size());
  }

  /// Members of each of the collective's groups, a host included.
  [[nodiscard]] int group_size(std::uint32_t id) const;
  /// The member at `position` in the group of `rank`.
  [[nodiscard]] int member(std::uint32_t id, int rank, int position) const;
  [[nodiscard]] int position(std::uint32_t id, int rank) const;
  /// The other end of a message.
  [[nodiscard]] int peer(std::uint32_t id, int rank) const;

 private:
  [[nodiscard]] std::uint32_t intern(const RoleProgram& role, const RoleOperation& operation);
  void assign_channels(TrainingStepCommunication& of);

  const Program& program_;
  std::vector<TrainingStepCommunication> all_;
  std::vector<std::vector<std::uint32_t>> of_role_;
  std::vector<std::vector<std::uint32_t>> times_in_role_;
  std::unordered_map<const Operation*, std::uint32_t> of_operation_;  // lookup only, never iterated
  std::vector<Communication> communicators_;
  std::uint32_t channels_ = 0;
};

}  // namespace lockstep
