#include "strategies/collectives/schedules/tree_halves.hpp"

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
  TreeHalf(ReductionTrees trees, std::int64_t chunks) : trees_{std::move(trees)}, chunks_{chunks} {
    const auto nodes = static_cast<std::size_t>(ranks());
    beneath_.resize(nodes);
    places_.resize(nodes);
    for (int rank = 0; rank < n(); ++rank) {
      for (int node = rank; node >= 0; node = trees_.above(node)) {
        beneath_[at(node)].push_back(rank);
        std::vector<int>& places = places_[at(node)];
        const int place = rank % trees_.per_node();
        const auto found = std::lower_bound(places.begin(), places.end(), place);
        if (found == places.end() || *found != place) places.insert(found, place);
      }
    }
  }

  [[nodiscard]] int ranks() const final { return trees_.ranks() + trees_.switches(); }
  [[nodiscard]] int lanes() const final { return kLanes; }
  [[nodiscard]] std::int64_t blocks() const final { return n() * chunks_; }
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

  /// Blocks of a chunk: of the ranks beneath a tree node,
  [[nodiscard]] Blocks beneath(int node, std::int64_t chunk, Buffer in) const {
    Blocks out;
    for (const int rank : beneath_[at(node)]) add(rank, chunk, in, out);
    return out;
  }
  /// of all ranks at their places in nodes,
  [[nodiscard]] Blocks rails(int node, std::int64_t chunk, Buffer in) const {
    return others(node, {}, chunk, in);
  }
  /// and of those but the ranks beneath.
  [[nodiscard]] Blocks others(int node, std::int64_t chunk, Buffer in) const {
    return others(node, beneath_[at(node)], chunk, in);
  }

 private:
  [[nodiscard]] static std::size_t at(int node) { return static_cast<std::size_t>(node); }

  [[nodiscard]] Blocks others(int node, const std::vector<int>& but, std::int64_t chunk,
                              Buffer in) const {
    Blocks out;
    auto next = but.begin();
    for (int first = 0; first < n(); first += trees_.per_node()) {
      for (const int place : places_[at(node)]) {
        if (next != but.end() && *next == first + place) {
          ++next;
        } else {
          add(first + place, chunk, in, out);
        }
      }
    }
    return out;
  }

  void add(int rank, std::int64_t chunk, Buffer in, Blocks& out) const {
    const std::int64_t block = rank * chunks_ + chunk;
    if (!out.empty() && out.back().first + out.back().count == block) {
      ++out.back().count;
    } else {
      out.push_back({in, block, 1});
    }
  }

  ReductionTrees trees_;
  std::int64_t chunks_;
  std::vector<std::vector<int>> beneath_;  // per tree node: ranks, ascending
  std::vector<std::vector<int>> places_;   // and their places in nodes
};

class TreeReduceScatter final : public TreeHalf {
 public:
  using TreeHalf::TreeHalf;

  void step(int node, int lane, std::int64_t chunk, ScheduleStep& step) const override {
    constexpr Buffer kIn = Buffer::data;
    switch (lane) {
      case kInside:
        each_neighbour(node, [&](int peer) { step.send(peer, rails(peer, chunk, kIn), kSide); });
        each_neighbour(node, [&](int peer) {
          step.receive(peer, rails(node, chunk, kIn), Combine::reduce, kSide);
        });
        break;
      case kFromBelow:
        each_child(node, [&](int child) {
          step.receive(child, rails(child, chunk, kIn), Combine::reduce, kUp);
        });
        break;
      case kToAbove:
        step.send(above(node), rails(node, chunk, kIn), kUp);
        wait_for(node, is_rank(node) ? kInside : kFromBelow, chunk, step);
        break;
      case kFromAbove:
        step.receive(above(node), beneath(node, chunk, kIn), Combine::copy, kDown);
        break;
      default:
        each_child(node, [&](int child) { step.send(child, beneath(child, chunk, kIn), kDown); });
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
          step.receive(child, beneath(child, chunk, in), Combine::copy, kUp);
        });
        break;
      case kToAbove:
        step.send(above(node), beneath(node, chunk, in), kUp);
        wait_for(node, kFromBelow, chunk, step);
        break;
      case kFromAbove:
        if (const Blocks got = others(node, chunk, in); !got.empty())
          step.receive(above(node), got, Combine::copy, kDown);
        break;
      case kToBelow:
        each_child(node, [&](int child) {
          if (const Blocks sent = others(child, chunk, in); !sent.empty())
            step.send(child, sent, kDown);
        });
        wait_for(node, kFromBelow, chunk, step);
        wait_for(node, kFromAbove, chunk, step);
        break;
      default:
        each_neighbour(node, [&](int peer) { step.send(peer, rails(node, chunk, in), kSide); });
        each_neighbour(node, [&](int peer) {
          step.receive(peer, rails(peer, chunk, in), Combine::copy, kSide);
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
