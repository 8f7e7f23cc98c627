#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/symmetry/plain/plain_plan.hpp"

namespace lockstep::fold {

/// Max-min fair shares of a plan's connections, as maxmin::SparseShares finds them: by its
/// equations, which have one solution. Which of a link's connections have bytes on it is a word of
/// bits.
class PlainShares {
 public:
  explicit PlainShares(const PlainPlan& plan);

  void attach(std::uint32_t connection) {
    for (const PlainPlan::Hop& hop : hops(connection))
      links_[hop.link].active |= std::uint64_t{1} << hop.number;
  }
  void detach(std::uint32_t connection) {
    for (const PlainPlan::Hop& hop : hops(connection)) {
      Line& link = links_[hop.link];
      link.active &= ~(std::uint64_t{1} << hop.number);
      if (link.active == 0) {
        link.level = kUnlimited;
      } else {
        enqueue(hop.link);
      }
    }
  }
  /// Rate of an attached connection that is alone on all its links; it is assigned. Otherwise 0:
  /// solve() determines it.
  [[nodiscard]] std::uint64_t rate_alone(std::uint32_t connection);
  [[nodiscard]] bool has_changes() const { return !queue_.empty(); }
  /// Works out again what attached and detached connections affect. False if that reaches too far;
  /// the levels are then invalid.
  [[nodiscard]] bool solve();
  /// Connections on links whose level the last solve changed; some twice.
  [[nodiscard]] std::span<const std::uint32_t> touched() const { return touched_; }
  [[nodiscard]] std::uint64_t rate(std::uint32_t connection) const {
    std::uint64_t lowest = kUnlimited;
    for (const PlainPlan::Hop& hop : hops(connection))
      lowest = std::min(lowest, links_[hop.link].level);
    return lowest;
  }

 private:
  static constexpr std::uint64_t kUnlimited = UINT64_MAX;
  static constexpr std::uint32_t kNoOther = UINT32_MAX;      // crosses no other link
  static constexpr std::uint32_t kSeveral = UINT32_MAX - 1;  // crosses several others
  struct Line {
    std::uint64_t level = kUnlimited;  // kUnlimited: never freezes
    std::uint64_t active = 0;          // bits of its users
    std::uint64_t capacity = 0;
    std::uint32_t first_user = 0;
    bool queued = false;
    bool replaced = false;  // its level changed in this solve
  };
  struct User {
    std::uint32_t connection = 0;
    std::uint32_t other = kNoOther;  // the other link that it crosses
  };
  struct Way {
    std::uint32_t hops = 0;
    std::array<PlainPlan::Hop, PlainPlan::kMostHops> over{};
  };

  [[nodiscard]] std::span<const PlainPlan::Hop> hops(std::uint32_t connection) const {
    return {ways_[connection].over.data(), ways_[connection].hops};
  }
  void enqueue(std::uint32_t link) {
    if (links_[link].queued) return;
    links_[link].queued = true;
    queue_.push_back(link);
  }
  /// Calls visit(user) for all that have bytes on the link.
  template <typename Visit>
  void each_on(const Line& link, const Visit& visit) const {
    for (std::uint64_t bits = link.active; bits != 0; bits &= bits - 1)
      visit(users_[link.first_user + static_cast<std::uint32_t>(std::countr_zero(bits))]);
  }
  [[nodiscard]] std::uint64_t allowed(const User& user, std::uint32_t link) const;
  [[nodiscard]] std::uint64_t level_of(std::uint32_t link) const;
  void work_out(std::uint32_t link);

  std::vector<Line> links_;
  std::vector<User> users_;  // link by link
  std::vector<Way> ways_;    // per connection
  std::vector<std::uint32_t> queue_;
  std::vector<std::uint32_t> replaced_;  // whose level changed
  std::vector<std::uint32_t> touched_;
};

}  // namespace lockstep::fold
