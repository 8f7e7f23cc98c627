#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/network/maxmin/flow_table.hpp"
#include "sim/network/maxmin/solve_checkpoints.hpp"

namespace lockstep::maxmin {

/// Max-min fair shares while few flows cross any link: no groups, each flow has its own rate. The
/// equations are those of MaxMinSolver and have one solution, so the rates are equal; a link fits
/// in two cache lines. With more flows per link, groups are cheaper.
class SparseShares {
 public:
  /// Maximum number of flows per link.
  static constexpr std::size_t kMost = 13;

  /// Capacities in rate steps, by link.
  explicit SparseShares(std::span<const std::uint64_t> capacities);

  void add_link(std::uint64_t capacity);
  void set_capacity(LinkId link, std::uint64_t capacity) { links_[link].capacity = capacity; }

  /// Adds the flow to its links, or removes it. attach() returns false if a link is full.
  [[nodiscard]] bool attach(const FlowTable& flows, FlowId id);
  void detach(const FlowTable& flows, FlowId id);
  /// Rate of an attached flow that is alone on all its links; it is assigned. Otherwise 0: solve()
  /// determines it.
  [[nodiscard]] std::uint64_t rate_alone(const FlowTable& flows, FlowId id);
  /// Makes an attached flow cross `added`, which has the capacity and flows of `known`.
  void add_hop(const FlowTable& flows, FlowId id, LinkId known, LinkId added);

  struct Share {
    FlowId flow = 0;
    std::uint64_t rate = 0;
  };
  /// Re-solves the levels affected by attached and detached flows, and lists flows on links whose
  /// level changed with their rates (some twice). False if that would visit too many flows; levels
  /// are then invalid.
  [[nodiscard]] bool solve(const FlowTable& flows, std::vector<Share>& shares);
  [[nodiscard]] std::uint64_t rate(const FlowTable& flows, FlowId id) const;
  [[nodiscard]] std::span<const Crossing> on_link(LinkId link) const { return links_[link].all(); }
  [[nodiscard]] bool has_changes() const { return !queue_.empty(); }

 private:
  static constexpr std::uint64_t kUnlimited = UINT64_MAX;
  struct alignas(64) Line {
    std::uint64_t level = kUnlimited;  // kUnlimited: never freezes
    std::uint64_t capacity = 0;
    std::uint32_t replaced = 0;  // the last solve that changed its level
    std::uint16_t count = 0;
    bool queued = false;
    std::array<Crossing, kMost> crossings{};

    [[nodiscard]] std::span<Crossing> all() { return {crossings.data(), count}; }
    [[nodiscard]] std::span<const Crossing> all() const { return {crossings.data(), count}; }
  };
  /// Upper bound on a flow's rate on a link by the levels of its other links.
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
  std::vector<LinkId> queue_;     // to be solved
  std::vector<LinkId> replaced_;  // whose level changed
  std::uint32_t solve_ = 0;
};

}  // namespace lockstep::maxmin
