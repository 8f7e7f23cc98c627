#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/network/maxmin/flow_table.hpp"
#include "sim/network/maxmin/solve_checkpoints.hpp"

namespace lockstep::maxmin {

/// Max-min fair shares of the flows on a set of links, by progressive filling: level by level.
///
/// Every flow belongs to the group of the link that limits it and gets that link's level as its
/// rate. A group accumulates the service of its flows (level times time, exactly), and a flow ends
/// when the service reaches the flow's mark. So a change of level re-keys a group, not its flows;
/// only flows that become limited by another link move.
class MaxMinSolver {
 public:
  /// Capacities in rate steps, by link.
  explicit MaxMinSolver(std::span<const std::uint64_t> capacities);

  /// Allocates state; before the first solve.
  void begin();
  LinkId add_link(std::uint64_t capacity);
  void set_capacity(LinkId link, std::uint64_t capacity) { capacity_[link] = capacity; }
  [[nodiscard]] std::uint64_t capacity(LinkId link) const { return capacity_[link]; }

  /// Rate of the flow if it were alone, in rate steps.
  [[nodiscard]] std::uint64_t rate_alone(FlowTable& flows, const Flow& flow) const;

  /// Advances the service of these links' groups to `now`; required before every solve.
  void advance(std::span<const LinkId> links, std::int64_t now_ps);

  /// Solves the levels of `links`, which must include every link of every flow on them. Flows
  /// without a group have their remaining work in Flow::work. Starts at the last valid checkpoint.
  void solve(FlowTable& flows, std::span<const LinkId> links, SolveCheckpoints& checkpoints);
  /// The same if, since the last solve, flows have joined or left only the links `changed` (joined
  /// flows may be new): re-solves only levels affected by the change; all others stay valid. False,
  /// without any effect, if that would visit more than `most` flows.
  [[nodiscard]] bool solve_near(FlowTable& flows, std::span<const LinkId> changed, std::size_t most,
                                std::int64_t now_ps);
  /// A superset of the links whose level or flows solve_near() changed.
  [[nodiscard]] std::span<const LinkId> near() const { return near_; }
  /// Rate of the flows of the link's group, in rate steps.
  [[nodiscard]] std::uint64_t level(LinkId link) const { return groups_[link].level; }
  /// Lower bound on the link's level, whatever the other links are.
  [[nodiscard]] std::uint64_t least_level(const FlowTable& flows, LinkId link) const;

  /// End of the first flow of the link's group; kNever if it has none.
  [[nodiscard]] std::int64_t next_end(const FlowTable& flows, LinkId link);
  /// Whether next_end() has not been called since it last changed.
  [[nodiscard]] bool has_new_end(LinkId link) const {
    return groups_[link].live > 0 && groups_[link].next_ps == kUnknown;
  }
  /// Whether the last result of next_end() is `ps` and still valid.
  [[nodiscard]] bool ends_at(LinkId link, std::int64_t ps) const {
    return groups_[link].live > 0 && groups_[link].next_ps == ps;
  }
  static constexpr std::int64_t kNever = INT64_MAX;
  /// Removes the flows of the link's group that end at `now`.
  void take_ended(FlowTable& flows, LinkId link, std::int64_t now_ps, std::vector<FlowId>& ended);

  /// Removes a flow from its group; Flow::work becomes its remaining work.
  void ungroup(FlowTable& flows, FlowId id);

 private:
  struct Finish {
    Int128 service;
    FlowId flow;
    std::uint32_t version;
    friend bool operator>(const Finish& a, const Finish& b) { return a.service > b.service; }
  };
  static constexpr std::int64_t kUnknown = -1;
  struct Group {
    Int128 service = 0;
    std::int64_t since_ps = 0;
    std::uint64_t level = 0;
    std::int64_t next_ps = kUnknown;  // end of the first flow
    std::uint32_t live = 0;
    bool front_holds = false;       // the first of `finishing` is known to be current
    std::vector<Finish> finishing;  // heap; entries of moved flows are skipped at the top
  };
  struct LinkState : ResidualCapacity {
    std::uint32_t frozen = 0;  // sweep in which the link froze
    std::uint32_t near = 0;    // mark of the last solve_near() that included it
    bool queued = false;       // to be solved by it
  };
  static constexpr std::uint64_t kUnlimited = UINT64_MAX;
  static constexpr std::size_t kFew = 16;  // flows per link that are compared without a heap
  /// Upper bound on a flow's rate on a link by the levels of its other links.
  struct Allowed {
    std::uint64_t level = 0;
    Weight weight = 0;
  };
  struct Replaced {
    std::uint64_t level = 0;
    LinkId link = 0;
  };
  struct Joining {
    FlowId flow = 0;
    std::uint64_t rate = 0;
  };
  struct Bound {
    std::uint64_t level;  // never above the link's true level
    LinkId link;
  };

  /// The order of the heap: lowest level first, then lowest link.
  [[nodiscard]] static bool sinks_below(const Bound& a, const Bound& b) {
    return a.level != b.level ? a.level > b.level : a.link > b.link;
  }
  void begin_solve(const FlowTable& flows, std::span<const LinkId> links,
                   SolveCheckpoints& checkpoints);
  void resume_solve(const SolveCheckpoints::Checkpoint& from, SolveCheckpoints& checkpoints);
  void remember(std::span<const LinkId> links, SolveCheckpoints& checkpoints,
                std::uint64_t level) const;
  void drop_top();
  void freeze(FlowTable& flows, LinkId link, std::uint64_t level);
  void freeze_pair(LinkId other, std::uint64_t level, Weight unit);
  void freeze_far(FlowTable& flows, FlowId id, std::uint64_t level);
  void move(FlowTable& flows, FlowId id, LinkId to);
  void enqueue(LinkId link) {
    if (residual_[link].queued) return;
    residual_[link].queued = true;
    queue_.push_back(link);
  }
  void give_up(std::size_t from);
  void work_out(const FlowTable& flows, LinkId link);
  [[nodiscard]] std::uint64_t fair_level(const FlowTable& flows, LinkId link);
  [[nodiscard]] std::uint64_t lowest_on(const FlowTable& flows, FlowId id, LinkId except) const;
  void add_near(LinkId link, std::int64_t now_ps);
  void settle_near(FlowTable& flows, std::span<const LinkId> changed, std::int64_t now_ps);
  /// False if the budget is exhausted.
  [[nodiscard]] bool spend(std::size_t flows) {
    if (flows > work_left_) return false;
    work_left_ -= flows;
    return true;
  }
  void drop_stale(const FlowTable& flows, Group& group);
  void sift_down(std::size_t at);
  bool settle_top();

  bool begun_ = false;
  std::vector<std::uint64_t> capacity_;
  std::vector<Group> groups_;
  std::vector<std::uint64_t> fair_;  // per link: its level; kUnlimited: never freezes
  std::vector<LinkState> residual_;
  std::vector<Bound> bounds_;  // heap by level, then link
  std::vector<LinkId> lowest_;
  std::uint32_t sweep_ = 0;
  // State of solve_near():
  std::uint32_t mark_ = 0;
  std::size_t work_left_ = 0;       // remaining budget of flows
  std::vector<LinkId> near_;        // links included
  std::vector<LinkId> queue_;       // links to solve
  std::vector<Replaced> replaced_;  // previous levels of changed links
  std::vector<Allowed> allowed_;    // by flow of the current link
  std::vector<Joining> joining_;
};

}  // namespace lockstep::maxmin
