#include "sim/symmetry/rank_fold.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "sim/symmetry/class_differences.hpp"
#include "sim/symmetry/ranks/rank_recursion.hpp"

namespace lockstep::fold {
namespace {

/// Beyond this many steps per pair classes are looked for first.
constexpr std::uint64_t kFewStepsPerPair = 8;

bool is_for_ranks(const Workload& workload, const FoldOptions& options) {
  if (!options.by_rank || !options.max_plus || workload.calls.size() != 1) return false;
  const CollectiveCall& call = workload.calls.front();
  return call.schedule->slots() == 0 && call.traffic_weight == 1 &&
         call.members.size() >= options.by_rank_from;
}

bool has_numbers_for_channels(const Relations& relations) {
  return relations.pairs.size() * static_cast<std::uint64_t>(relations.channels) < UINT32_MAX;
}

std::optional<RankFold> with_costs(Relations& relations, const Network& network, NetworkModel model,
                                   const BlockSymmetry* symmetry) {
  if (!has_numbers_for_channels(relations)) return std::nullopt;
  ReceivedPairs received{relations};
  auto costs = RankCosts::find(relations, received, network, model, symmetry);
  if (!costs) return std::nullopt;
  return RankFold{std::move(relations), std::move(received), *std::move(costs)};
}

/// Distinguishes ranks by their steps and by what is their own.
class Kinds {
 public:
  Kinds(const RankFold& fold, const Network& network, const Workload& workload)
      : relations_{fold.relations},
        received_{fold.received},
        costs_{fold.costs},
        network_{network},
        call_{workload.calls.front()} {}

  void find(FoldReport& report) {
    find_step_keys();
    find_odd_links();
    std::vector<std::uint32_t>& class_of = report.class_of.emplace_back();
    class_of.reserve(call_.members.size());
    for (std::size_t rank = 0; rank < call_.members.size(); ++rank)
      class_of.push_back(class_of_rank(rank, report));
    const auto largest = std::max_element(
        report.classes.begin(), report.classes.end(),
        [](const EquivalenceClass& a, const EquivalenceClass& b) { return a.members < b.members; });
    const std::size_t described = std::min(report.classes.size(), FoldReport::kMaxDescribed);
    for (std::size_t c = 0; c < described; ++c)
      if (&report.classes[c] != &*largest)
        report.classes[c].difference =
            difference(static_cast<std::size_t>(report.classes[c].representative),
                       static_cast<std::size_t>(largest->representative));
  }

 private:
  [[nodiscard]] std::size_t member_of(std::size_t rank) const {
    return relations_.member_of(static_cast<std::uint32_t>(rank));
  }
  [[nodiscard]] TimePoint start(std::size_t rank) const {
    return call_.starts.empty() ? TimePoint{} : call_.starts[rank];
  }
  [[nodiscard]] const Endpoint& endpoint(std::size_t rank) const {
    return network_.endpoints[call_.members[rank]];
  }

  void find_step_keys() {
    for (std::uint32_t m = 0; m < relations_.members.size(); ++m) {
      Key sent;
      Key received;
      for (const Pair& pair : relations_.sent_by(m)) sent += pair.key;
      for (const std::uint32_t p : received_.of(m)) received += relations_.pairs[p].key;
      steps_.push_back(KeyBuilder{}.add(relations_.members[m].key).add(sent).add(received).key());
    }
  }

  /// Per rank, of what it sends or receives at another rate than others at its place.
  void find_odd_links() {
    for (std::uint32_t p = 0; p < relations_.pairs.size(); ++p) {
      const Pair& pair = relations_.pairs[p];
      for (const RankCosts::OddRate& odd : costs_.odd(p)) {
        if (odd_.empty()) odd_.resize(call_.members.size());
        const Key key = KeyBuilder{}.add(p).add(odd.alone).key();
        const auto block = static_cast<std::uint32_t>(pair.block);
        odd_[rank_of(pair.sender, odd.copy)] += KeyBuilder{}.add(1).add(key).key();
        odd_[rank_of(pair.receiver, moved_block(relations_.moves, odd.copy, block))] += key;
      }
    }
  }

  [[nodiscard]] std::size_t rank_of(std::uint32_t member, std::uint32_t copy) const {
    return std::size_t{copy} * relations_.members.size() + member;
  }

  std::uint32_t class_of_rank(std::size_t rank, FoldReport& report) {
    const Endpoint& figures = endpoint(rank);
    KeyBuilder key;
    key.add(steps_[member_of(rank)]).add(start(rank).ps());
    key.add(figures.message_overhead.ps())
        .add(figures.reduce_rate ? figures.reduce_rate->steps() : 0)
        .add(figures.copy_rate ? figures.copy_rate->steps() : 0);
    if (!odd_.empty()) key.add(odd_[rank]);
    const auto next = static_cast<std::uint32_t>(report.classes.size());
    const auto [found, is_new] = known_.try_emplace(key.key(), next);
    if (is_new) report.classes.push_back({0, static_cast<int>(rank), 0, {}});
    ++report.classes[found->second].members;
    return found->second;
  }

  /// The first thing in which two ranks differ.
  [[nodiscard]] std::string difference(std::size_t rank, std::size_t usual) const {
    if (std::string text = start_difference(start(rank), start(usual)); !text.empty()) return text;
    if (std::string text = endpoint_difference(endpoint(rank), endpoint(usual)); !text.empty())
      return text;
    if (!odd_.empty() && odd_[rank] != odd_[usual]) return "sends or receives over other links";
    return "other messages or routes";
  }

  struct Hash {
    std::size_t operator()(const Key& key) const { return key.low; }
  };

  const Relations& relations_;
  const ReceivedPairs& received_;
  const RankCosts& costs_;
  const Network& network_;
  const CollectiveCall& call_;
  std::vector<Key> steps_;  // per member
  std::vector<Key> odd_;    // per rank; empty: none
  std::unordered_map<Key, std::uint32_t, Hash> known_;
};

}  // namespace

std::optional<RankFold> find_rank_fold(const Network& network, const Workload& workload,
                                       NetworkModel model, const FoldOptions& options) {
  if (!is_for_ranks(workload, options) || !options.blocks) return std::nullopt;
  if (BlockSymmetry::find(network, workload)) return std::nullopt;
  const auto symmetry = BlockSymmetry::find_of_routes(network, workload);
  if (!symmetry) return std::nullopt;
  // Starts are no part of the symmetry.
  Workload at_once = workload;
  at_once.calls.front().starts.clear();
  auto relations = find_relations_of_block(network, at_once, options.most_relations, *symmetry);
  if (!relations) return std::nullopt;
  auto out = with_costs(*relations, network, model, &*symmetry);
  if (!out || !may_run_rank_recursion(out->relations, out->received, out->costs, network, workload))
    return std::nullopt;
  return out;
}

std::optional<RankFold> make_rank_fold(Relations& relations, const Network& network,
                                       const Workload& workload, NetworkModel model,
                                       const FoldOptions& options) {
  if (!is_for_ranks(workload, options) || relations.moves) return std::nullopt;
  if (relations.visited > kFewStepsPerPair * relations.pairs.size()) return std::nullopt;
  if (std::any_of(relations.memberships.begin(), relations.memberships.end(),
                  [](std::uint32_t count) { return count > 1; }))
    return std::nullopt;
  return with_costs(relations, network, model, nullptr);
}

void describe_ranks(const RankFold& fold, const Network& network, const Workload& workload,
                    FoldReport& report) {
  report.by_rank = true;
  Kinds{fold, network, workload}.find(report);
}

}  // namespace lockstep::fold
