#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/network/maxmin/flow_table.hpp"
#include "sim/network/maxmin/solve_checkpoints.hpp"

namespace lockstep::maxmin {

/// Max-min fair shares of the flows on a set of links, by filling level by level.
///
/// Every flow belongs to the group of one link, the one that limits it, and gets that link's
/// level as its rate. A group counts the service that each of its flows has had (level times
/// time, exactly); a flow ends when that count reaches its own mark, so a change of level
/// re-keys a group and not its flows. Only a flow that comes to be limited elsewhere moves.
class MaxMinSolver {
 public:
  /// Capacities in rate steps, by link.
  explicit MaxMinSolver(std::span<const std::uint64_t> capacities);

  /// Before anything is worked out.
  void begin();
  LinkId add_link(std::uint64_t capacity);
  void set_capacity(LinkId link, std::uint64_t capacity) { capacity_[link] = capacity; }
  [[nodiscard]] std::uint64_t capacity(LinkId link) const { return capacity_[link]; }

  /// The rate that the flow would have if it were alone, in rate steps.
  [[nodiscard]] std::uint64_t rate_alone(FlowTable& flows, const Flow& flow) const;

  /// Brings the service of these links' groups up to `now`. Before every fill.
  void advance(std::span<const LinkId> links, std::int64_t now_ps);

  /// Works out the levels of `links`, which must hold every link of every flow on them.
  /// Flows without a group bring their work left in Flow::work. Begins where `history` says that
  /// the last filling still holds.
  void fill(FlowTable& flows, std::span<const LinkId> links, SolveCheckpoints& history);
  /// The same where, since the last filling, flows have come to or gone from no links but
  /// `changed`, of which those that have come to these links may have been in no filling yet: works
  /// out levels as far as the change reaches. Those of all other links hold. False where that would
  /// look at more than `most` flows; then nothing has happened, and fill() has to.
  [[nodiscard]] bool fill_near(FlowTable& flows, std::span<const LinkId> changed, std::size_t most,
                               std::int64_t now_ps);
  /// The links whose level or flows are others now, and more.
  [[nodiscard]] std::span<const LinkId> near() const { return near_; }
  /// What the flows of the link's group get, in rate steps.
  [[nodiscard]] std::uint64_t level(LinkId link) const { return groups_[link].level; }
  /// The level that the link could have at the least, whatever the others do.
  [[nodiscard]] std::uint64_t least_level(const FlowTable& flows, LinkId link) const;

  /// When the first flow of the link's group ends; kNever where it has none.
  [[nodiscard]] std::int64_t next_end(const FlowTable& flows, LinkId link);
  /// Whether that has not been asked since it last changed.
  [[nodiscard]] bool has_new_end(LinkId link) const {
    return groups_[link].live > 0 && groups_[link].next_ps == kUnknown;
  }
  /// What that said last, if it still holds.
  [[nodiscard]] bool ends_at(LinkId link, std::int64_t ps) const {
    return groups_[link].live > 0 && groups_[link].next_ps == ps;
  }
  static constexpr std::int64_t kNever = INT64_MAX;
  /// Takes the flows of the link's group that end at `now`.
  void take_ended(FlowTable& flows, LinkId link, std::int64_t now_ps, std::vector<FlowId>& ended);

  /// Takes a flow out of its group; Flow::work becomes the work left.
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
    std::int64_t next_ps = kUnknown;  // when the first of them ends
    std::uint32_t live = 0;
    bool front_holds = false;       // the first of `finishing` has been seen to be no leftover
    std::vector<Finish> finishing;  // heap; entries of flows that moved are skipped at the top
  };
  struct Filling : ResidualCapacity {
    std::uint32_t frozen = 0;  // the sweep in which the link froze
    std::uint32_t near = 0;    // the mark of the last fill_near that it was part of
    bool queued = false;       // that is to work it out
  };
  static constexpr std::uint64_t kUnlimited = UINT64_MAX;
  static constexpr std::size_t kFew = 16;  // flows on a link that are looked at at once
  /// What a flow can have of a link at the most by the levels of its others.
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
  void begin_filling(const FlowTable& flows, std::span<const LinkId> links,
                     SolveCheckpoints& history);
  void resume_filling(const SolveCheckpoints::Checkpoint& from, SolveCheckpoints& history);
  void remember(std::span<const LinkId> links, SolveCheckpoints& history,
                std::uint64_t level) const;
  void drop_top();
  void freeze(FlowTable& flows, LinkId link, std::uint64_t level);
  void freeze_pair(LinkId other, std::uint64_t level, Weight unit);
  void freeze_far(FlowTable& flows, FlowId id, std::uint64_t level);
  void move(FlowTable& flows, FlowId id, LinkId to);
  void enqueue(LinkId link) {
    if (rest_[link].queued) return;
    rest_[link].queued = true;
    queue_.push_back(link);
  }
  void give_up(std::size_t from);
  void work_out(const FlowTable& flows, LinkId link);
  [[nodiscard]] std::uint64_t fair_level(const FlowTable& flows, LinkId link);
  [[nodiscard]] std::uint64_t lowest_on(const FlowTable& flows, FlowId id, LinkId except) const;
  void add_near(LinkId link, std::int64_t now_ps);
  void settle_near(FlowTable& flows, std::span<const LinkId> changed, std::int64_t now_ps);
  /// False where there is no work left for it.
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
  std::vector<std::uint64_t> fair_;  // per link: the level at which it freezes; kUnlimited: never
  std::vector<Filling> rest_;
  std::vector<Bound> bounds_;  // heap by level, then link
  std::vector<LinkId> lowest_;
  std::uint32_t sweep_ = 0;
  // Of fill_near:
  std::uint32_t mark_ = 0;
  std::size_t work_left_ = 0;       // flows that it may still look at
  std::vector<LinkId> near_;        // the links that it concerned
  std::vector<LinkId> queue_;       // links to be worked out
  std::vector<Replaced> replaced_;  // levels that were others before
  std::vector<Allowed> allowed_;    // by flow of the link at hand
  std::vector<Joining> joining_;
};

}  // namespace lockstep::maxmin
