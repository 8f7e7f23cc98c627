#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "sim/network/network.hpp"

namespace lockstep::maxmin {

/// Links of equal capacity that have been crossed by the same flows with the same weights so far
/// (the cables of one trunk; a GPU's cable and the next one). One of them represents all in solves,
/// so that a route of 34 links costs as much as one of four (one solution: README.md). Classes are
/// only ever split, by the first flow that distinguishes two links.
class LinkTwins {
 public:
  /// Capacities in rate steps, by link; links of different capacity are no twins. `looks` false: no
  /// link has a twin.
  LinkTwins(std::span<const std::uint64_t> capacities, bool looks);

  /// A class was split: `added` now represents itself, and every flow that crosses `known` crosses
  /// it too, with the same weight.
  struct Parting {
    LinkId known = 0;
    LinkId added = 0;
  };

  /// Writes the hops with one link per class to `out`. Calls follow(parting) for each split, one by
  /// one: `known` of a later one may be `added` of an earlier.
  template <typename Follow>
  void resolve(std::span<const Hop> hops, std::vector<Hop>& out, Follow follow) {
    if (!looks_) {
      out.assign(hops.begin(), hops.end());
      return;
    }
    out.clear();
    shared_.clear();
    for (const Hop& hop : hops) {
      if (classes_[class_of_[hop.link]].members.size() == 1) {
        out.push_back(hop);
      } else {
        shared_.push_back(hop);
      }
    }
    if (!shared_.empty()) resolve_shared(out, follow);
  }

 private:
  struct Class {
    LinkId speaker = 0;  // represents all members
    std::vector<LinkId> members;
  };

  void sort_shared();
  [[nodiscard]] std::size_t end_of_run(std::size_t first) const;
  [[nodiscard]] bool contains(std::size_t first, std::size_t last, LinkId link) const;
  std::uint32_t part(std::uint32_t from, std::size_t first, std::size_t last);

  template <typename Follow>
  void resolve_shared(std::vector<Hop>& out, Follow follow) {
    sort_shared();
    for (std::size_t first = 0; first < shared_.size();) {
      const std::size_t last = end_of_run(first);
      const std::uint32_t whole = class_of_[shared_[first].link];
      std::uint32_t own = whole;
      if (last - first < classes_[whole].members.size()) {
        const LinkId known = classes_[whole].speaker;
        own = part(whole, first, last);
        const bool stays = classes_[whole].speaker == known;
        follow(Parting{known, classes_[stays ? own : whole].speaker});
      }
      out.push_back({classes_[own].speaker, shared_[first].weight});
      first = last;
    }
  }

  bool looks_;
  std::vector<std::uint32_t> class_of_;  // per link
  std::vector<std::uint32_t> position_;  // per link, in its class
  std::vector<Class> classes_;
  std::vector<Hop> shared_;
};

}  // namespace lockstep::maxmin
