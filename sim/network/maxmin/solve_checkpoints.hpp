#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/network/network.hpp"

namespace lockstep::maxmin {

/// Residual capacity of a link during a solve.
struct ResidualCapacity {
  // Capacity times FlowTable::unit() in two halves: without split routes the high one stays 0.
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  Weight open = 0;  // weight of the flows that are not frozen yet

  static ResidualCapacity of(UInt128 capacity, Weight open) {
    return {static_cast<std::uint64_t>(capacity), static_cast<std::uint64_t>(capacity >> 64U),
            open};
  }
  [[nodiscard]] UInt128 capacity() const { return (static_cast<UInt128>(high) << 64U) | low; }
  void take(UInt128 share, Weight weight) { *this = of(capacity() - share, open - weight); }
  /// Share of every open flow. Requires open > 0.
  [[nodiscard]] std::uint64_t level() const {
    return high == 0 ? low / open : static_cast<std::uint64_t>(capacity() / open);
  }
};

/// The course of a component's last solve, so that the next one can start where it would differ: a
/// leaving flow has no effect below its own level, a joining flow none below the lowest level that
/// its links can fall to.
class SolveCheckpoints {
 public:
  struct Open {
    LinkId link;
    ResidualCapacity rest;
  };
  /// Links still open after the first `frozen` ones, before those at `level` freeze.
  struct Checkpoint {
    std::size_t frozen = 0;
    std::uint64_t level = 0;
    std::vector<Open> open;
  };

  /// Discards all checkpoints.
  void forget() {
    order.clear();
    used_ = 0;
    reach_ = 0;
    changes_.clear();
  }
  /// Records that a flow of `weight` joined (or left) the link without effect below `level`.
  void change(LinkId link, Weight weight, bool joined, std::uint64_t level) {
    reach_ = std::min(reach_, level);
    changes_.push_back({link, weight, joined});
  }

  /// The last checkpoint that is still valid, updated by the recorded changes; nullptr if none is.
  const Checkpoint* resume() {
    while (used_ > 0 && checkpoints_[used_ - 1].level > reach_) --used_;
    for (std::size_t i = 0; i < used_; ++i) apply(checkpoints_[i]);
    changes_.clear();
    reach_ = UINT64_MAX;
    return used_ == 0 ? nullptr : &checkpoints_[used_ - 1];
  }

  Checkpoint& add_checkpoint() {
    if (used_ == checkpoints_.size()) checkpoints_.emplace_back();
    return checkpoints_[used_++];
  }

  std::vector<LinkId> order;  // links in the order in which they froze

 private:
  struct Change {
    LinkId link;
    Weight weight;
    bool joined;
  };

  void apply(Checkpoint& checkpoint) const {
    for (const Change& change : changes_)
      for (Open& open : checkpoint.open) {
        if (open.link != change.link) continue;
        open.rest.open += change.joined ? change.weight : Weight{0} - change.weight;
        break;
      }
  }

  std::vector<Checkpoint> checkpoints_;
  std::size_t used_ = 0;
  std::uint64_t reach_ = 0;
  std::vector<Change> changes_;
};

}  // namespace lockstep::maxmin
