#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/network/network.hpp"

namespace lockstep::maxmin {

/// What is left of a link while the water rises.
struct ResidualCapacity {
  // Capacity times FlowTable::unit(), as two halves: without split routes the high one stays 0 and
  // the filling leaves it alone.
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  Weight open = 0;  // weight of the flows not frozen yet

  static ResidualCapacity of(UInt128 capacity, Weight open) {
    return {static_cast<std::uint64_t>(capacity), static_cast<std::uint64_t>(capacity >> 64U),
            open};
  }
  [[nodiscard]] UInt128 capacity() const { return (static_cast<UInt128>(high) << 64U) | low; }
  void take(UInt128 share, Weight weight) { *this = of(capacity() - share, open - weight); }
  /// The share that every open flow would get. Requires open > 0.
  [[nodiscard]] std::uint64_t level() const {
    return high == 0 ? low / open : static_cast<std::uint64_t>(capacity() / open);
  }
};

/// How the last filling of a component went, so that the next one can begin where it would differ.
/// A flow that leaves had no part in what froze below its own level, and a flow that joins has none
/// below the level that its links could fall to: up to there the filling is the same.
class SolveCheckpoints {
 public:
  struct Open {
    LinkId link;
    ResidualCapacity rest;
  };
  /// The links still open after the first `frozen` ones, just before those at `level` froze.
  struct Checkpoint {
    std::size_t frozen = 0;
    std::uint64_t level = 0;
    std::vector<Open> open;
  };

  /// Everything has to be worked out again.
  void forget() {
    order.clear();
    used_ = 0;
    reach_ = 0;
    changes_.clear();
  }
  /// A flow of `weight` came onto the link (or left it) that did not matter below `level`.
  void change(LinkId link, Weight weight, bool joined, std::uint64_t level) {
    reach_ = std::min(reach_, level);
    changes_.push_back({link, weight, joined});
  }

  /// The last checkpoint that the changes leave standing, brought up to date, or nullptr.
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
