#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/network/maxmin/flow_table.hpp"
#include "sim/network/maxmin/solve_checkpoints.hpp"

namespace lockstep::maxmin {

/// Max-min fair shares where few flows cross any link: no groups, every flow has a rate of its own.
/// The equations are those of MaxMinSolver, which have one solution, so that the rates are the
/// same; what a link needs lies in two lines of the cache. For more flows a link, groups are
/// cheaper.
class SparseShares {
 public:
  /// So many flows may cross a link.
  static constexpr std::size_t kMost = 13;

  /// Capacities in rate steps, by link.
  explicit SparseShares(std::span<const std::uint64_t> capacities);

  void add_link(std::uint64_t capacity);
  void set_capacity(LinkId link, std::uint64_t capacity) { links_[link].capacity = capacity; }

  /// Puts the flow on its links, or takes it off. False where some link has too many already.
  [[nodiscard]] bool attach(const FlowTable& flows, FlowId id);
  void detach(const FlowTable& flows, FlowId id);
  /// Of a flow that has come: its rate if it is alone on all of its links, which it then has; else
  /// 0, and solve() has to say.
  [[nodiscard]] std::uint64_t rate_alone(const FlowTable& flows, FlowId id);
  /// The flow, which is on its links, crosses `added` too, as wide as `known` and crossed by the
  /// same flows.
  void add_hop(const FlowTable& flows, FlowId id, LinkId known, LinkId added);

  struct Share {
    FlowId flow = 0;
    std::uint64_t rate = 0;
  };
  /// Works out levels again as far as what came and went reaches; flows on links whose level is
  /// another are listed with their rate, some twice. False where that would look at too many flows;
  /// then levels are of no use any more.
  [[nodiscard]] bool solve(const FlowTable& flows, std::vector<Share>& shares);
  [[nodiscard]] std::uint64_t rate(const FlowTable& flows, FlowId id) const;
  [[nodiscard]] std::span<const Crossing> on_link(LinkId link) const { return links_[link].all(); }
  [[nodiscard]] bool has_changes() const { return !queue_.empty(); }

 private:
  static constexpr std::uint64_t kUnlimited = UINT64_MAX;
  struct alignas(64) Line {
    std::uint64_t level = kUnlimited;  // at which the link freezes; kUnlimited: never
    std::uint64_t capacity = 0;
    std::uint32_t replaced = 0;  // the last solve that gave it another level
    std::uint16_t count = 0;
    bool queued = false;
    std::array<Crossing, kMost> crossings{};

    [[nodiscard]] std::span<Crossing> all() { return {crossings.data(), count}; }
    [[nodiscard]] std::span<const Crossing> all() const { return {crossings.data(), count}; }
  };
  /// What a flow can have of a link at the most by the levels of its others.
  struct Allowed {
    std::uint64_t level = 0;
    Weight weight = 0;
  };

  void enqueue(LinkId link) {
    if (links_[link].queued) return;
    links_[link].queued = true;
    queue_.push_back(link);
  }
  void work_out(const FlowTable& flows, LinkId id);
  [[nodiscard]] std::uint64_t level_of(const FlowTable& flows, LinkId id);
  [[nodiscard]] std::uint64_t level_of_any(const FlowTable& flows, LinkId id) const;
  [[nodiscard]] std::uint64_t lowest_on(const FlowTable& flows, FlowId id, LinkId except) const;

  std::vector<Line> links_;
  std::vector<LinkId> queue_;     // to be worked out
  std::vector<LinkId> replaced_;  // whose level is another
  std::uint32_t solve_ = 0;
};

}  // namespace lockstep::maxmin
