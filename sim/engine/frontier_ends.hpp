#pragma once

#include <cstdint>
#include <vector>

#include "sim/engine/matching/frontier.hpp"
#include "sim/engine/replay_state.hpp"

namespace lockstep::engine {

/// What other engines replay of the one call: the transfers of some channels, or one member. Queues
/// what they report until its time.
class FrontierEnds {
 public:
  FrontierEnds() = default;
  explicit FrontierEnds(ExternalTransport& transport) : transport_{&transport} {}
  FrontierEnds(ExternalMember& member, std::uint32_t index) : member_{&member}, index_{index} {}
  /// Required before use, and after a copy.
  void join(ReplayState& state) { state_ = &state; }
  void set_member(ExternalMember& member) { member_ = &member; }

  [[nodiscard]] bool any() const { return transport_ != nullptr || member_ != nullptr; }
  [[nodiscard]] bool has_member() const { return member_ != nullptr; }
  /// The member that others replay; kNone if none is.
  [[nodiscard]] std::uint32_t member_index() const { return index_; }
  [[nodiscard]] ExternalMember& member() const { return *member_; }
  /// Whether others carry this channel; then they have taken the post.
  [[nodiscard]] bool take(std::uint32_t channel, const Post& post) const {
    if (transport_ == nullptr || !transport_->carries(channel)) return false;
    transport_->take(channel, post);
    return true;
  }

  /// A post of the external member, or the end of an external transfer.
  struct Report {
    Post post;  // the external member's, or the completed one
    ConnectionKey key{};
    bool finished = false;
  };
  void push(TimePoint at, const Report& report);
  /// The report of an event.
  [[nodiscard]] Report pop(std::uint32_t id);

 private:
  ReplayState* state_ = nullptr;
  ExternalTransport* transport_ = nullptr;
  ExternalMember* member_ = nullptr;
  std::uint32_t index_ = kNone;
  std::vector<Report> reports_;
  std::vector<std::uint32_t> spare_;
};

}  // namespace lockstep::engine
