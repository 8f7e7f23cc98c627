#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "sim/program/unroll.hpp"

/// Matches the communications of a program's roles with each other.
namespace lockstep {

/// Whether an operation's time counts as communication.
[[nodiscard]] bool is_communication(const Operation& operation);
/// Whether it has other ends: collectives, sends, receives.
[[nodiscard]] bool has_ends(const Operation& operation);

/// A communicator and, for sends and receives, the displacement of the receiver.
struct Channel {
  bool collective = true;
  MeshSubAxes over{};
  std::vector<int> participants{};
  std::optional<int> host{};
  std::string group{};
  int displacement = 0;  // 0 .. size of `over` - 1

  friend auto operator<=>(const Channel&, const Channel&) = default;
};

/// A send matches the receive of the same tensor instance, repeated ones in order; if the ends name
/// the tensor differently (a ring that forwards keys), by order within the channel. Collectives of
/// a channel match in each member's launch order.
class CommunicationIndex {
 public:
  /// Keeps a reference to the roles.
  CommunicationIndex(const Program& program, std::span<const RoleProgram> roles);

  /// The channel of an operation with other ends.
  [[nodiscard]] std::uint32_t channel_of(std::size_t role, std::uint32_t operation) const {
    return roles_[role].channel[operation];
  }
  [[nodiscard]] const Channel& channel(std::uint32_t id) const { return channels_[id]; }
  /// The operation of role `other` in the same communication.
  [[nodiscard]] std::optional<std::uint32_t> match(std::size_t role, std::uint32_t operation,
                                                   std::size_t other) const;

 private:
  enum class End : std::uint8_t { collective, send, receive };
  using List = std::vector<std::uint32_t>;  // operations, in order
  struct OfRole {
    List channel;  // per operation
    List place;    // per operation: index in its list of by_order
    List repeat;   // per operation: index in its list of by_tensor
    std::map<std::pair<End, std::uint32_t>, List> by_order;
    std::map<std::tuple<End, std::uint32_t, TensorInstance>, List> by_tensor;
  };

  void add(OfRole& index, const RoleProgram& role, std::uint32_t operation);
  [[nodiscard]] std::uint32_t intern(const Operation& operation);
  [[nodiscard]] static End end_of(const Operation& operation);
  [[nodiscard]] static End other_end(End end);

  const Program* program_;
  std::span<const RoleProgram> programs_;
  std::vector<OfRole> roles_;
  std::vector<Channel> channels_;
  std::map<Channel, std::uint32_t> ids_;
};

}  // namespace lockstep
