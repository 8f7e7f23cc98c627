#include "strategies/collectives/schedules/trees/reduction_trees.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace lockstep {
namespace {

enum Lane { kFromBelow, kToAbove, kFromAbove, kToBelow, kLanes };
constexpr int kUp = 0;  // channels
constexpr int kDown = 1;

class TreeReduction final : public Schedule {
 public:
  explicit TreeReduction(ReductionTrees trees) : trees_{std::move(trees)} {}

  [[nodiscard]] int ranks() const override { return trees_.ranks() + trees_.switches(); }
  [[nodiscard]] int lanes() const override { return kLanes; }
  [[nodiscard]] std::int64_t blocks() const override { return trees_.per_node(); }
  [[nodiscard]] std::int64_t steps(int node, int lane) const override {
    return has(node, static_cast<Lane>(lane)) ? 1 : 0;
  }

  void step(int node, int lane, std::int64_t, ScheduleStep& step) const override {
    switch (lane) {
      case kFromBelow:
        for (const int child : trees_.below(node))
          receive(child, trees_.shares(child), Combine::reduce, kUp, step);
        break;
      case kToAbove:
        send(trees_.above(node), trees_.shares(node), kUp, step);
        wait_for(node, kFromBelow, step);
        break;
      case kFromAbove:
        receive(trees_.above(node), trees_.shares(node), Combine::copy, kDown, step);
        break;
      default:
        for (const int child : trees_.below(node)) send(child, trees_.shares(child), kDown, step);
        wait_for(node, has(node, kFromAbove) ? kFromAbove : kFromBelow, step);
    }
  }

 private:
  [[nodiscard]] bool has(int node, Lane lane) const {
    if (lane == kFromBelow || lane == kToBelow) return !trees_.below(node).empty();
    return trees_.above(node) >= 0 && !trees_.shares(node).empty();
  }
  void wait_for(int node, Lane lane, ScheduleStep& step) const {
    if (has(node, lane)) step.after.push_back({lane, 0});
  }
  static void send(int peer, std::span<const Chunk> shares, int channel, ScheduleStep& step) {
    for (const Chunk& share : shares) step.sends.push_back({peer, share, channel});
  }
  static void receive(int peer, std::span<const Chunk> shares, Combine combine, int channel,
                      ScheduleStep& step) {
    for (const Chunk& share : shares) step.receives.push_back({peer, share, combine, channel});
  }

  ReductionTrees trees_;
};

/// Ascending numbers, each once, as runs.
std::vector<Chunk> runs_of(const std::vector<int>& ascending) {
  std::vector<Chunk> runs;
  for (const int block : ascending) {
    if (!runs.empty() && runs.back().first + runs.back().count == block) {
      ++runs.back().count;
    } else {
      runs.push_back({Buffer::data, block, 1});
    }
  }
  return runs;
}

}  // namespace

ReductionTrees::ReductionTrees(int n, int per_node, std::vector<int> parents)
    : n_{n}, per_node_{per_node}, above_{std::move(parents)} {
  first_below_.assign(static_cast<std::size_t>(switches()) + 1, 0);
  for (const int parent : above_) {
    if (parent >= n_) ++first_below_[static_cast<std::size_t>(parent - n_) + 1];
  }
  for (std::size_t k = 1; k < first_below_.size(); ++k) first_below_[k] += first_below_[k - 1];
  below_.resize(first_below_.back());
  std::vector<std::size_t> next = first_below_;
  for (int node = 0; node < static_cast<int>(above_.size()); ++node) {
    if (above(node) >= n_) below_[next[static_cast<std::size_t>(above(node) - n_)]++] = node;
  }
  find_shares();
}

std::span<const int> ReductionTrees::below(int node) const {
  if (node < n_) return {};
  const auto k = static_cast<std::size_t>(node - n_);
  return std::span{below_}.subspan(first_below_[k], first_below_[k + 1] - first_below_[k]);
}

std::span<const Chunk> ReductionTrees::shares(int node) const {
  return shares_[static_cast<std::size_t>(node)];
}

void ReductionTrees::find_shares() {
  std::vector<std::vector<int>> places(above_.size());
  for (int rank = 0; rank < n_; ++rank) {
    const int place = rank % per_node_;
    // A switch that has the place has already passed it to those above it.
    for (int node = rank; node >= 0; node = above(node)) {
      auto& known = places[static_cast<std::size_t>(node)];
      const auto at = std::lower_bound(known.begin(), known.end(), place);
      if (at != known.end() && *at == place) break;
      known.insert(at, place);
    }
  }
  for (const std::vector<int>& known : places) shares_.push_back(runs_of(known));
}

int ReductionTrees::root_of(int node) const {
  while (above(node) >= 0) node = above(node);
  return node;
}

int ReductionTrees::depth() const {
  int most = 0;
  for (int rank = 0; rank < n_; ++rank) {
    int switches = 0;
    for (int node = above(rank); node >= 0; node = above(node)) ++switches;
    most = std::max(most, switches);
  }
  return most;
}

std::optional<std::string> ReductionTrees::problem() const {
  for (int rank = 0; rank < n_; ++rank) {
    if (above(rank) < n_) return fmt::format("rank {} hangs below no switch that reduces", rank);
    const int first = rank % per_node_;
    if (root_of(rank) != root_of(first))
      return fmt::format("ranks {} and {} share no switch that reduces", first, rank);
  }
  return std::nullopt;
}

ReductionTrees reduction_trees_of(const AlgorithmInput& input) {
  return {input.n, input.layout.per_node, input.layout.fabric_switches};
}

std::optional<std::string> reduction_trees_refusal(const AlgorithmInput& input) {
  const int n = input.n;
  const int group = input.layout.per_node;
  if (input.layout.fabric_switches.empty())
    return "needs a tree of reducing switches in the network that reaches every rank without "
           "failed links; this cluster has none";
  if (const auto unequal = input.layout.unequal_nodes())
    return "needs nodes that are alike; " + *unequal;
  if (n % group != 0)
    return fmt::format("needs equal nodes; {} ranks do not fill nodes of {}", n, group);
  return reduction_trees_of(input).problem();
}

SchedulePtr make_reduction_trees(const ReductionTrees& trees) {
  return std::make_shared<TreeReduction>(trees);
}

}  // namespace lockstep
