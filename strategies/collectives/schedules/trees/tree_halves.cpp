#include "strategies/collectives/schedules/trees/tree_halves.hpp"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

namespace lockstep {
namespace {

enum Lane { kFromBelow, kToAbove, kFromAbove, kToBelow, kInside, kLanes };
constexpr int kUp = 0;  // channels
constexpr int kDown = 1;
constexpr int kSide = 2;

/// What is the same in both halves: who takes part, and whose blocks a message has.
class TreeHalf : public Schedule {
 public:
  TreeHalf(ReductionTrees trees, std::int64_t chunks)
      : trees_{std::move(trees)},
        chunks_{chunks},
        node_count_{trees_.ranks() / trees_.per_node()},
        pieces_{chunks > node_count_ ? chunks : 1} {
    beneath_.resize(static_cast<std::size_t>(ranks()));
    for (int rank = 0; rank < n(); ++rank)
      for (int node = rank; node >= 0; node = trees_.above(node))
        beneath_[at(node)].push_back(rank);
  }

  [[nodiscard]] int ranks() const final { return trees_.ranks() + trees_.switches(); }
  [[nodiscard]] int lanes() const final { return kLanes; }
  [[nodiscard]] std::int64_t blocks() const final { return n() * pieces_; }
  [[nodiscard]] std::int64_t steps(int node, int lane) const final {
    return has(node, static_cast<Lane>(lane)) ? chunks_ : 0;
  }

 protected:
  using Blocks = std::vector<Chunk>;

  [[nodiscard]] int n() const { return trees_.ranks(); }
  [[nodiscard]] bool is_rank(int node) const { return node < n(); }
  [[nodiscard]] int above(int node) const { return trees_.above(node); }
  [[nodiscard]] std::span<const int> below(int node) const { return trees_.below(node); }
  [[nodiscard]] bool has(int node, Lane lane) const {
    if (lane == kInside) return is_rank(node) && trees_.per_node() > 1;
    if (trees_.per_node() == n()) return false;  // one node
    if (lane == kFromBelow || lane == kToBelow) return !below(node).empty();
    return above(node) >= 0 && !beneath_[at(node)].empty();
  }
  void wait_for(int node, Lane lane, std::int64_t chunk, ScheduleStep& step) const {
    if (has(node, lane)) step.after.push_back({lane, chunk});
  }
  /// Children of a switch with ranks beneath.
  template <typename Visit>
  void each_child(int node, const Visit& visit) const {
    for (const int child : below(node))
      if (!beneath_[at(child)].empty()) visit(child);
  }
  /// The other ranks of a node, from the next one on.
  template <typename Visit>
  void each_neighbour(int rank, const Visit& visit) const {
    const int group = trees_.per_node();
    const int first = rank - rank % group;
    for (int i = 1; i < group; ++i) visit(first + (rank - first + i) % group);
  }

  /// Nothing where a chunk has no blocks of the message.
  static void send(int peer, const Blocks& blocks, int channel, ScheduleStep& step) {
    if (!blocks.empty()) step.send(peer, blocks, channel);
  }
  static void receive(int peer, const Blocks& blocks, Combine combine, int channel,
                      ScheduleStep& step) {
    if (!blocks.empty()) step.receive(peer, blocks, combine, channel);
  }

  /// Blocks of a chunk: of the ranks beneath a tree node,
  [[nodiscard]] Blocks beneath(int node, std::int64_t chunk, Buffer in) const {
    Blocks out;
    each_part(chunk, [&](int first, std::int64_t piece) {
      const std::vector<int>& ranks = beneath_[at(node)];
      for (auto rank = std::lower_bound(ranks.begin(), ranks.end(), first);
           rank != ranks.end() && *rank < first + trees_.per_node(); ++rank)
        add(*rank, piece, in, out);
    });
    return out;
  }
  /// of all ranks at their places in nodes,
  [[nodiscard]] Blocks rails(int node, std::int64_t chunk, Buffer in) const {
    Blocks out;
    each_part(chunk, [&](int first, std::int64_t piece) {
      each_place(node, [&](int place) { add(first + place, piece, in, out); });
    });
    return out;
  }
  /// and of those but the ranks beneath.
  [[nodiscard]] Blocks others(int node, std::int64_t chunk, Buffer in) const {
    Blocks out;
    const std::vector<int>& ranks = beneath_[at(node)];
    each_part(chunk, [&](int first, std::int64_t piece) {
      each_place(node, [&](int place) {
        if (!std::binary_search(ranks.begin(), ranks.end(), first + place))
          add(first + place, piece, in, out);
      });
    });
    return out;
  }

 private:
  [[nodiscard]] static std::size_t at(int node) { return static_cast<std::size_t>(node); }

  /// Places in nodes of the ranks beneath.
  template <typename Visit>
  void each_place(int node, const Visit& visit) const {
    for (const Chunk& run : trees_.shares(node))
      for (std::int64_t i = 0; i < run.count; ++i) visit(static_cast<int>(run.first + i));
  }

  /// What belongs to a chunk: of each node, by its first rank, a piece; or all of some nodes, where
  /// messages would otherwise be of very many runs.
  template <typename Visit>
  void each_part(std::int64_t chunk, const Visit& visit) const {
    const bool whole = pieces_ == 1;
    const std::int64_t begin = whole ? chunk * node_count_ / chunks_ : 0;
    const std::int64_t end = whole ? (chunk + 1) * node_count_ / chunks_ : node_count_;
    for (std::int64_t node = begin; node < end; ++node)
      visit(static_cast<int>(node) * trees_.per_node(), whole ? 0 : chunk);
  }

  void add(int rank, std::int64_t piece, Buffer in, Blocks& out) const {
    const std::int64_t block = rank * pieces_ + piece;
    if (!out.empty() && out.back().first + out.back().count == block) {
      ++out.back().count;
    } else {
      out.push_back({in, block, 1});
    }
  }

  ReductionTrees trees_;
  std::int64_t chunks_;
  std::int64_t node_count_;
  std::int64_t pieces_;                    // of a rank's share
  std::vector<std::vector<int>> beneath_;  // per tree node: ranks, ascending
};

class TreeReduceScatter final : public TreeHalf {
 public:
  using TreeHalf::TreeHalf;

  void step(int node, int lane, std::int64_t chunk, ScheduleStep& step) const override {
    constexpr Buffer kIn = Buffer::data;
    switch (lane) {
      case kInside:
        each_neighbour(node, [&](int peer) { send(peer, rails(peer, chunk, kIn), kSide, step); });
        each_neighbour(node, [&](int peer) {
          receive(peer, rails(node, chunk, kIn), Combine::reduce, kSide, step);
        });
        break;
      case kFromBelow:
        each_child(node, [&](int child) {
          receive(child, rails(child, chunk, kIn), Combine::reduce, kUp, step);
        });
        break;
      case kToAbove:
        send(above(node), rails(node, chunk, kIn), kUp, step);
        wait_for(node, is_rank(node) ? kInside : kFromBelow, chunk, step);
        break;
      case kFromAbove:
        receive(above(node), beneath(node, chunk, kIn), Combine::copy, kDown, step);
        break;
      default:
        each_child(node, [&](int child) { send(child, beneath(child, chunk, kIn), kDown, step); });
        wait_for(node, has(node, kFromAbove) ? kFromAbove : kFromBelow, chunk, step);
    }
  }
};

class TreeAllGather final : public TreeHalf {
 public:
  using TreeHalf::TreeHalf;

  void step(int node, int lane, std::int64_t chunk, ScheduleStep& step) const override {
    const Buffer in = is_rank(node) ? Buffer::data : Buffer::output;
    switch (lane) {
      case kFromBelow:
        each_child(node, [&](int child) {
          receive(child, beneath(child, chunk, in), Combine::copy, kUp, step);
        });
        break;
      case kToAbove:
        send(above(node), beneath(node, chunk, in), kUp, step);
        wait_for(node, kFromBelow, chunk, step);
        break;
      case kFromAbove:
        receive(above(node), others(node, chunk, in), Combine::copy, kDown, step);
        break;
      case kToBelow:
        each_child(node, [&](int child) { send(child, others(child, chunk, in), kDown, step); });
        wait_for(node, kFromBelow, chunk, step);
        wait_for(node, kFromAbove, chunk, step);
        break;
      default:
        each_neighbour(node, [&](int peer) { send(peer, rails(node, chunk, in), kSide, step); });
        each_neighbour(node, [&](int peer) {
          receive(peer, rails(peer, chunk, in), Combine::copy, kSide, step);
        });
        wait_for(node, kFromAbove, chunk, step);
    }
  }
};

}  // namespace

SchedulePtr tree_reduce_scatter(const ReductionTrees& trees, std::int64_t chunks) {
  return std::make_shared<TreeReduceScatter>(trees, chunks);
}

SchedulePtr tree_all_gather(const ReductionTrees& trees, std::int64_t chunks) {
  return std::make_shared<TreeAllGather>(trees, chunks);
}

PipelineRounds tree_half_rounds(const AlgorithmInput& input) {
  const ReductionTrees trees = reduction_trees_of(input);
  const int inside = trees.per_node() > 1 ? 1 : 0;
  return {.fixed = 2 * trees.depth() + inside - 1, .parts = trees.per_node()};
}

}  // namespace lockstep
