#include "sim/symmetry/ranks/rank_costs.hpp"

#include <algorithm>

namespace lockstep::fold {
namespace {

constexpr std::uint32_t kNone = UINT32_MAX;

/// Most that the transfers of members can want of each link at once.
class LinkLoads {
 public:
  explicit LinkLoads(std::size_t links) : links_(links) {}

  /// A pair of `member`; all of one member's on a link follow each other.
  void add(std::size_t link, std::uint64_t member, bool one_at_a_time, UInt128 load) {
    Wanted& wanted = links_[link];
    if (wanted.member != member) {
      wanted.others += wanted.own;
      wanted.own = 0;
      wanted.member = member;
    }
    wanted.own = one_at_a_time ? std::max(wanted.own, load) : wanted.own + load;
  }
  [[nodiscard]] UInt128 at(std::size_t link) const {
    return links_[link].others + links_[link].own;
  }

 private:
  struct Wanted {
    UInt128 others = 0;
    UInt128 own = 0;
    std::uint64_t member = UINT64_MAX;
  };
  std::vector<Wanted> links_;
};

}  // namespace

ReceivedPairs::ReceivedPairs(const Relations& relations) : first(relations.members.size() + 1, 0) {
  for (const Pair& pair : relations.pairs) ++first[pair.receiver + 1];
  for (std::size_t m = 0; m + 1 < first.size(); ++m) first[m + 1] += first[m];
  pairs.resize(relations.pairs.size());
  std::vector<std::uint32_t> next(first.begin(), first.end() - 1);
  for (std::uint32_t p = 0; p < relations.pairs.size(); ++p)
    pairs[next[relations.pairs[p].receiver]++] = p;
}

class RankCostsFinder {
 public:
  RankCostsFinder(const Relations& relations, const ReceivedPairs& received, const Network& network,
                  NetworkModel model, const BlockSymmetry* symmetry)
      : relations_{relations}, received_{received}, network_{network}, model_{model} {
    if (symmetry != nullptr) read_widths(*symmetry);
  }

  std::optional<RankCosts> run() {
    find_rates();
    if (!widths_.empty()) find_odd_rates();
    find_shared();
    const bool fine = widths_.empty() ? blocks_fit() : all_fit();
    return fine ? std::optional{std::move(out_)} : std::nullopt;
  }

 private:
  [[nodiscard]] const Link& first_link(std::uint32_t number) const {
    return network_.links[relations_.links[number]];
  }

  /// Bandwidth of every link of every block, unless all blocks have the same.
  void read_widths(const BlockSymmetry& symmetry) {
    if (all_alike(symmetry)) return;
    widths_.reserve(relations_.links.size() * relations_.copies());
    for (const LinkId first : relations_.links)
      for (std::uint32_t block = 0; block < relations_.copies(); ++block)
        widths_.push_back(network_.links[symmetry.link_in(block, first)].bandwidth.steps());
  }
  [[nodiscard]] bool all_alike(const BlockSymmetry& symmetry) const {
    for (std::uint32_t number = 0; number < relations_.links.size(); ++number) {
      const LinkId first = relations_.links[number];
      for (std::uint32_t block = 0; block < relations_.copies();
           block += relations_.shared_by[number])
        if (network_.links[symmetry.link_in(block, first)].bandwidth !=
            network_.links[first].bandwidth)
          return false;
    }
    return true;
  }

  static std::uint64_t alone_on(std::uint64_t width, Weight weight) {
    return static_cast<std::uint64_t>(
        std::min<UInt128>(static_cast<UInt128>(width) * kWeightUnit / weight, Rate::kMaxSteps));
  }

  [[nodiscard]] std::size_t place(std::size_t link, std::uint32_t block) const {
    return link * relations_.copies() + block;
  }
  /// The first of the blocks that have a link together, one of them being this one.
  [[nodiscard]] std::uint32_t first_of(std::uint32_t link, std::uint32_t block) const {
    const std::uint32_t together = relations_.shared_by[link];
    return together == 1 ? block : block / together * together;
  }
  /// Of the link that a copy of the pair crosses.
  [[nodiscard]] std::uint32_t block_of(const Crossing& each, const Pair& pair,
                                       std::uint32_t copy) const {
    return first_of(each.link, each.arriving ? moved_block(relations_.moves, copy,
                                                           static_cast<std::uint32_t>(pair.block))
                                             : copy);
  }

  template <typename Width>  // width(crossing)
  [[nodiscard]] std::uint64_t alone(std::uint32_t p, const Width& width) const {
    std::uint64_t rate = 0;
    for (const Crossing& each : relations_.crossings_of(p)) {
      const std::uint64_t on = alone_on(width(each), each.weight);
      rate = rate == 0 ? on : std::min(rate, on);
    }
    return rate;
  }

  /// Where blocks differ, those that most links of a kind allow.
  void find_rates() {
    std::vector<std::uint64_t> usual(relations_.links.size());
    const std::uint32_t copies = relations_.copies();
    for (std::uint32_t link = 0; link < usual.size(); ++link) {
      usual[link] = first_link(link).bandwidth.steps();
      if (widths_.empty()) continue;
      const auto from = widths_.begin() + static_cast<std::ptrdiff_t>(std::size_t{link} * copies);
      std::vector<std::uint64_t> sorted(from, from + copies);
      std::nth_element(sorted.begin(), sorted.begin() + copies / 2, sorted.end());
      usual[link] = sorted[copies / 2];
    }
    out_.alone_.reserve(relations_.pairs.size());
    for (std::uint32_t p = 0; p < relations_.pairs.size(); ++p)
      out_.alone_.push_back(alone(p, [&](const Crossing& each) { return usual[each.link]; }));
  }

  [[nodiscard]] std::uint64_t alone_in(std::uint32_t p, std::uint32_t copy) const {
    const Pair& pair = relations_.pairs[p];
    return alone(p, [&](const Crossing& each) {
      return widths_[place(each.link, block_of(each, pair, copy))];
    });
  }

  void find_odd_rates() {
    for (std::uint32_t p = 0; p < relations_.pairs.size(); ++p) {
      out_.first_odd_.push_back(out_.odd_.size());
      for (std::uint32_t copy = 0; copy < relations_.copies(); ++copy)
        if (const std::uint64_t rate = alone_in(p, copy); rate != out_.alone_[p])
          out_.odd_.push_back({copy, rate});
    }
    out_.first_odd_.push_back(out_.odd_.size());
  }

  /// Where only ports limit, other links are nothing but a cap of each transfer's own.
  [[nodiscard]] bool limits(std::uint32_t link) const {
    return model_ != NetworkModel::alpha_beta || first_link(link).port;
  }

  [[nodiscard]] static UInt128 load(std::uint64_t alone, const Pair& pair, const Crossing& each) {
    return static_cast<UInt128>(alone) * each.weight * pair.parallel;
  }

  [[nodiscard]] bool is_shared(const Crossing& each) const { return shared_[each.link] != kNone; }

  /// On the other links one pair has one message at a time, at a rate that fits.
  void find_shared() {
    shared_.assign(relations_.links.size(), kNone);
    for (std::uint32_t p = 0; p < relations_.pairs.size(); ++p) {
      for (const Crossing& each : relations_.crossings_of(p)) {
        if (relations_.users[each.link] == 1 && relations_.pairs[p].parallel == 1 &&
            relations_.shared_by[each.link] == 1)
          continue;
        if (shared_[each.link] == kNone && limits(each.link)) shared_[each.link] = shared_links_++;
      }
    }
  }

  /// All blocks are alike: a link of block 0 has all that crosses such links anywhere. A member of
  /// another block, as seen from that link, has a number of its own. Of blocks that have a link
  /// together, each loads it as much as the first: they count as that one, and then all of them.
  [[nodiscard]] bool blocks_fit() const {
    const auto of_block = [&](std::uint32_t member, std::uint32_t link, int block) {
      return std::uint64_t{first_of(link, static_cast<std::uint32_t>(block))} *
                 relations_.members.size() +
             member;
    };
    LinkLoads sent{shared_links_};
    for (std::uint32_t m = 0; m < relations_.members.size(); ++m) {
      for (std::uint32_t p = relations_.first_pair[m]; p < relations_.first_pair[m + 1]; ++p) {
        const Pair& pair = relations_.pairs[p];
        const int seen = relations_.moves ? relations_.moves->seen_from(pair.block, 0) : 0;
        for (const Crossing& each : relations_.crossings_of(p))
          if (is_shared(each))
            sent.add(shared_[each.link], of_block(m, each.link, each.arriving ? seen : 0),
                     relations_.members[m].single, load(out_.alone_[p], pair, each));
      }
    }
    // Mostly what members send fits, and then nothing has to be known of what they receive.
    if (all_shared([&](std::uint64_t width, std::uint32_t link, std::uint32_t blocks) {
          return fits(width, blocks * sent.at(link), blocks * sent.at(link));
        }))
      return true;
    LinkLoads received{shared_links_};
    for (std::uint32_t m = 0; m < relations_.members.size(); ++m) {
      for (const std::uint32_t p : received_.of(m)) {
        const Pair& pair = relations_.pairs[p];
        for (const Crossing& each : relations_.crossings_of(p))
          if (is_shared(each))
            received.add(shared_[each.link], of_block(m, each.link, each.arriving ? 0 : pair.block),
                         relations_.members[m].single, load(out_.alone_[p], pair, each));
      }
    }
    return all_shared([&](std::uint64_t width, std::uint32_t link, std::uint32_t blocks) {
      return fits(width, blocks * sent.at(link), blocks * received.at(link));
    });
  }

  template <typename Fits>  // fits(width, shared link, blocks that have it together)
  [[nodiscard]] bool all_shared(const Fits& fits) const {
    for (std::uint32_t link = 0; link < shared_.size(); ++link)
      if (shared_[link] != kNone &&
          !fits(first_link(link).bandwidth.steps(), shared_[link],
                std::min(relations_.shared_by[link], relations_.copies())))
        return false;
    return true;
  }

  /// Link by link of all blocks.
  [[nodiscard]] bool all_fit() const {
    LinkLoads sent{std::size_t{shared_links_} * relations_.copies()};
    LinkLoads received{std::size_t{shared_links_} * relations_.copies()};
    const auto members = static_cast<std::uint32_t>(relations_.members.size());
    for (std::uint32_t copy = 0; copy < relations_.copies(); ++copy) {
      for (std::uint32_t m = 0; m < members; ++m) {
        const std::uint64_t rank = std::uint64_t{copy} * members + m;
        for (std::uint32_t p = relations_.first_pair[m]; p < relations_.first_pair[m + 1]; ++p)
          add_in(p, copy, rank, relations_.members[m].single, sent);
        for (const std::uint32_t p : received_.of(m))
          add_in(p,
                 static_cast<std::uint32_t>(relations_.moves->seen_from(relations_.pairs[p].block,
                                                                        static_cast<int>(copy))),
                 rank, relations_.members[m].single, received);
      }
    }
    for (std::size_t link = 0; link < shared_.size(); ++link) {
      if (shared_[link] == kNone) continue;
      for (std::uint32_t block = 0; block < relations_.copies(); ++block) {
        const std::size_t load = place(shared_[link], block);
        if (!fits(widths_[place(link, block)], sent.at(load), received.at(load))) return false;
      }
    }
    return true;
  }

  void add_in(std::uint32_t p, std::uint32_t copy, std::uint64_t rank, bool single,
              LinkLoads& loads) const {
    const Pair& pair = relations_.pairs[p];
    const std::uint64_t rate = alone_in(p, copy);
    for (const Crossing& each : relations_.crossings_of(p))
      if (is_shared(each))
        loads.add(place(shared_[each.link], block_of(each, pair, copy)), rank, single,
                  load(rate, pair, each));
  }

  [[nodiscard]] static bool fits(std::uint64_t width, UInt128 sent, UInt128 received) {
    return std::min(sent, received) <= static_cast<UInt128>(width) * kWeightUnit;
  }

  const Relations& relations_;
  const ReceivedPairs& received_;
  const Network& network_;
  NetworkModel model_;
  std::vector<std::uint64_t> widths_;  // per link and block, in rate steps; empty: all alike
  std::vector<std::uint32_t> shared_;  // per link: its number among those to look at, or kNone
  std::uint32_t shared_links_ = 0;
  RankCosts out_;
};

std::optional<RankCosts> RankCosts::find(const Relations& relations, const ReceivedPairs& received,
                                         const Network& network, NetworkModel model,
                                         const BlockSymmetry* symmetry) {
  return RankCostsFinder{relations, received, network, model, symmetry}.run();
}

}  // namespace lockstep::fold
