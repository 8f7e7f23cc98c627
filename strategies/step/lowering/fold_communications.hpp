#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "sim/program/unroll.hpp"

namespace lockstep {

/// A communication of a training step, distinguished from others by who takes part and by how much
/// is sent, not by when it happens.
struct TrainingStepCommunication {
  OperationKind kind = OperationKind::collective;  // or send, receive
  Communication how{};                             // `only` is empty where all take part
  Bytes message{};
  std::uint32_t channel = 0;       // both ends of a message have the same; collectives one each
  std::uint32_t communicator = 0;  // of collectives: those of one communicator meet in order
};

/// Every different communication of a program, and who its ranks are.
class TrainingStepCommunications {
 public:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  /// The roles must outlive it.
  TrainingStepCommunications(const Program& program, const std::vector<RoleProgram>& roles);

  [[nodiscard]] const TrainingStepCommunication& operator[](std::uint32_t id) const {
    return all_[id];
  }
  [[nodiscard]] std::size_t size() const { return all_.size(); }
  /// Of a role, in the order in which it comes to them.
  [[nodiscard]] std::span<const std::uint32_t> of_role(std::size_t role) const {
    return of_role_[role];
  }
  /// How often it comes to each of these.
  [[nodiscard]] std::span<const std::uint32_t> times_in_role(std::size_t role) const {
    return times_in_role_[role];
  }
  /// kNone of what takes no time: computation, groups of one, nothing to send.
  [[nodiscard]] std::uint32_t of(const Operation& operation) const;
  [[nodiscard]] std::uint32_t communicators() const {
    return static_cast<std::uint32_t>(communicators_.size());
  }

  /// Members of a collective's groups, a host among them.
  [[nodiscard]] int group_size(std::uint32_t id) const;
  /// The one at `position` of the group that `rank` is in.
  [[nodiscard]] int member(std::uint32_t id, int rank, int position) const;
  [[nodiscard]] int position(std::uint32_t id, int rank) const;
  /// Whom a message goes to or comes from.
  [[nodiscard]] int peer(std::uint32_t id, int rank) const;

 private:
  [[nodiscard]] std::uint32_t intern(const RoleProgram& role, const RoleOperation& operation);
  void assign_channels(TrainingStepCommunication& of);

  const Program& program_;
  std::vector<TrainingStepCommunication> all_;
  std::vector<std::vector<std::uint32_t>> of_role_;
  std::vector<std::vector<std::uint32_t>> times_in_role_;
  std::unordered_map<const Operation*, std::uint32_t> of_operation_;  // looked up, never walked
  std::vector<Communication> communicators_;
  std::uint32_t channels_ = 0;
};

}  // namespace lockstep
