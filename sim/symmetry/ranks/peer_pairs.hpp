#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace lockstep::fold {

/// Pairs of each member by the rank of the peer, as its steps name it. Lists are filled in order of
/// members.
class PeerPairs {
 public:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  explicit PeerPairs(std::size_t members, std::size_t pairs) : last_(members, 0) {
    first_.reserve(members + 1);
    first_.push_back(0);
    entries_.reserve(pairs);
  }

  void add(int peer, std::uint32_t pair) { entries_.push_back({peer, pair}); }
  void end_member() {
    const auto from = entries_.begin() + first_.back();
    if (!std::is_sorted(from, entries_.end(), by_peer)) std::sort(from, entries_.end(), by_peer);
    first_.push_back(static_cast<std::uint32_t>(entries_.size()));
  }

  /// kNone where the member has no such peer. Steps mostly go through peers in order.
  [[nodiscard]] std::uint32_t find(std::uint32_t member, int peer) {
    const std::uint32_t begin = first_[member];
    const std::uint32_t count = first_[member + 1] - begin;
    std::uint32_t& last = last_[member];
    for (const std::uint32_t guess : {last + 1, last, last - 1}) {
      if (guess >= count || entries_[begin + guess].peer != peer) continue;
      last = guess;
      return entries_[begin + guess].pair;
    }
    const auto from = entries_.begin() + begin;
    const auto found = std::lower_bound(from, from + count, Entry{peer, 0}, by_peer);
    if (found == from + count || found->peer != peer) return kNone;
    last = static_cast<std::uint32_t>(found - from);
    return found->pair;
  }

 private:
  struct Entry {
    int peer = 0;
    std::uint32_t pair = 0;
  };
  static bool by_peer(const Entry& a, const Entry& b) { return a.peer < b.peer; }

  std::vector<std::uint32_t> first_;
  std::vector<Entry> entries_;
  std::vector<std::uint32_t> last_;  // per member, where the last one was found
};

}  // namespace lockstep::fold
