#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "sim/symmetry/partition/partition.hpp"
#include "sim/symmetry/quotient/quotient_schedule.hpp"

namespace lockstep::fold {

/// Peers of a representative, one per class of pairs, by peer. `rank_of`: the rank of a class of
/// members in the folded schedule.
class FoldedPeers {
 public:
  /// Both must outlive it.
  FoldedPeers(const Relations& relations, const Partition& partition)
      : relations_{relations}, partition_{partition} {}

  template <typename RankOf>
  [[nodiscard]] std::vector<FoldedPeer> to(std::uint32_t member, const RankOf& rank_of) {
    for (std::uint32_t p = relations_.first_pair[member]; p < relations_.first_pair[member + 1];
         ++p)
      add(p, relations_.pairs[p].receiver, relations_.receiver_rank(relations_.pairs[p]), rank_of);
    return by_peer();
  }

  template <typename RankOf>
  [[nodiscard]] std::vector<FoldedPeer> from(std::uint32_t member, const RankOf& rank_of) {
    for (std::uint32_t i = partition_.first_received[member];
         i < partition_.first_received[member + 1]; ++i) {
      const std::uint32_t p = partition_.received[i];
      add(p, relations_.pairs[p].sender, relations_.sender_rank(relations_.pairs[p]), rank_of);
    }
    return by_peer();
  }

 private:
  /// `rank`: what `other` is called in the call's schedule.
  template <typename RankOf>
  void add(std::uint32_t p, std::uint32_t other, int rank, const RankOf& rank_of) {
    const std::uint32_t c = partition_.pair_class[p];
    if (place_of_class_.size() <= c) place_of_class_.resize(c + 1, UINT32_MAX);
    std::uint32_t& place = place_of_class_[c];
    if (place < out_.size()) {
      ++out_[place].times;
      return;
    }
    place = static_cast<std::uint32_t>(out_.size());
    out_.push_back({rank, rank_of(partition_.member_class[other]), c, 1});
  }

  [[nodiscard]] std::vector<FoldedPeer> by_peer() {
    for (const FoldedPeer& peer : out_) place_of_class_[peer.pairs] = UINT32_MAX;
    std::vector<FoldedPeer> out = std::exchange(out_, {});
    std::sort(out.begin(), out.end(),
              [](const FoldedPeer& a, const FoldedPeer& b) { return a.peer < b.peer; });
    return out;
  }

  const Relations& relations_;
  const Partition& partition_;
  /// Per class of pairs, in the list of peers at hand; UINT32_MAX: not there.
  std::vector<std::uint32_t> place_of_class_;
  std::vector<FoldedPeer> out_;
};

}  // namespace lockstep::fold
