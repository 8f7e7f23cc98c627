#include "strategies/collectives/schedules/trees/tree_halves.hpp"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "sim/schedule/schedule_traits.hpp"

namespace lockstep {
namespace {

enum Lane { kFromBelow, kToAbove, kFromAbove, kToBelow, kInside, kLanes };
constexpr int kUp = 0;  // channels
constexpr int kDown = 1;
constexpr int kSide = 2;

/// What is the same in both halves: who takes part, and whose blocks a message has.
class TreeHalf : public Schedule, public SizedSchedule {
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
    for (int node = 0; node < ranks(); ++node) {
      std::int64_t places = 0;
      for (const Chunk& run : trees_.shares(node)) places += run.count;
      places_.push_back(places);
    }
  }

  [[nodiscard]] int ranks() const final { return trees_.ranks() + trees_.switches(); }
  [[nodiscard]] int lanes() const final { return kLanes; }
  [[nodiscard]] std::int64_t blocks() const final { return n() * pieces_; }
  [[nodiscard]] std::int64_t steps(int node, int lane) const final {
    return has(node, static_cast<Lane>(lane)) ? chunks_ : 0;
  }
  void step(int node, int lane, std::int64_t chunk, ScheduleStep& step) const final {
    write({*this, chunk, false, step}, node, lane);
  }
  void sizes(int node, int lane, std::int64_t chunk, ScheduleStep& step) const final {
    write({*this, chunk, true, step}, node, lane);
  }

 protected:
  /// Blocks of a chunk: of the ranks beneath a tree node, of all ranks at their places in nodes, or
  /// of those but the ranks beneath.
  enum class Share : std::uint8_t { beneath, rails, others };
  struct Blocks {
    Share share;
    int node;
  };
  [[nodiscard]] static Blocks beneath(int node) { return {Share::beneath, node}; }
  [[nodiscard]] static Blocks rails(int node) { return {Share::rails, node}; }
  [[nodiscard]] static Blocks others(int node) { return {Share::others, node}; }

  /// A step of a chunk. Messages without blocks of it are left out.
  struct Out {
    const TreeHalf& tree;
    std::int64_t chunk;
    bool as_one;  // run of blocks
    ScheduleStep& step;

    void send(int peer, Blocks blocks, Buffer in, int channel) const {
      const std::int64_t count = tree.count(blocks, chunk);
      if (count == 0) return;
      if (as_one) {
        step.sends.push_back({peer, {in, 0, count}, channel});
      } else {
        step.send(peer, tree.runs(blocks, chunk, in), channel);
      }
    }
    void receive(int peer, Blocks blocks, Buffer in, Combine combine, int channel) const {
      const std::int64_t count = tree.count(blocks, chunk);
      if (count == 0) return;
      if (as_one) {
        step.receives.push_back({peer, {in, 0, count}, combine, channel});
      } else {
        step.receive(peer, tree.runs(blocks, chunk, in), combine, channel);
      }
    }
    void wait_for(int node, Lane lane) const {
      if (tree.has(node, lane)) step.after.push_back({lane, chunk});
    }
  };
  virtual void write(const Out& out, int node, int lane) const = 0;

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

 private:
  [[nodiscard]] static std::size_t at(int node) { return static_cast<std::size_t>(node); }

  /// Places in nodes of the ranks beneath.
  template <typename Visit>
  void each_place(int node, const Visit& visit) const {
    for (const Chunk& run : trees_.shares(node))
      for (std::int64_t i = 0; i < run.count; ++i) visit(static_cast<int>(run.first + i));
  }

  /// What belongs to a chunk: of each node a piece; or all of some nodes, where messages would
  /// otherwise be of very many runs.
  struct Part {
    std::int64_t first_node = 0;
    std::int64_t end_node = 0;
    std::int64_t piece = 0;
  };
  [[nodiscard]] Part part(std::int64_t chunk) const {
    if (pieces_ > 1) return {0, node_count_, chunk};
    return {chunk * node_count_ / chunks_, (chunk + 1) * node_count_ / chunks_, 0};
  }

  /// Ranks beneath a tree node, of the nodes of a part.
  [[nodiscard]] std::span<const int> ranks_of(int node, const Part& part) const {
    const std::vector<int>& all = beneath_[at(node)];
    const auto from = [&](std::int64_t of) {
      return std::lower_bound(all.begin(), all.end(), static_cast<int>(of) * trees_.per_node());
    };
    const auto first = from(part.first_node);
    return std::span{all}.subspan(static_cast<std::size_t>(first - all.begin()),
                                  static_cast<std::size_t>(from(part.end_node) - first));
  }

  [[nodiscard]] std::int64_t count(Blocks blocks, std::int64_t chunk) const {
    const Part part = this->part(chunk);
    const std::int64_t rails = places_[at(blocks.node)] * (part.end_node - part.first_node);
    if (blocks.share == Share::rails) return rails;
    const auto beneath = std::ssize(ranks_of(blocks.node, part));
    return blocks.share == Share::beneath ? beneath : rails - beneath;
  }

  [[nodiscard]] std::vector<Chunk> runs(Blocks blocks, std::int64_t chunk, Buffer in) const {
    const Part part = this->part(chunk);
    const std::span<const int> beneath = ranks_of(blocks.node, part);
    std::vector<Chunk> out;
    if (blocks.share == Share::beneath) {
      for (const int rank : beneath) add(rank, part.piece, in, out);
    } else {
      for (std::int64_t of = part.first_node; of < part.end_node; ++of) {
        each_place(blocks.node, [&](int place) {
          const int rank = static_cast<int>(of) * trees_.per_node() + place;
          if (blocks.share == Share::rails ||
              !std::binary_search(beneath.begin(), beneath.end(), rank))
            add(rank, part.piece, in, out);
        });
      }
    }
    return out;
  }

  void add(int rank, std::int64_t piece, Buffer in, std::vector<Chunk>& out) const {
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
  std::vector<std::int64_t> places_;       // per tree node: in nodes, of these ranks
};

class TreeReduceScatter final : public TreeHalf {
 public:
  using TreeHalf::TreeHalf;

 private:
  void write(const Out& out, int node, int lane) const override {
    constexpr Buffer kIn = Buffer::data;
    switch (lane) {
      case kInside:
        each_neighbour(node, [&](int peer) { out.send(peer, rails(peer), kIn, kSide); });
        each_neighbour(
            node, [&](int peer) { out.receive(peer, rails(node), kIn, Combine::reduce, kSide); });
        break;
      case kFromBelow:
        each_child(node,
                   [&](int child) { out.receive(child, rails(child), kIn, Combine::reduce, kUp); });
        break;
      case kToAbove:
        out.send(above(node), rails(node), kIn, kUp);
        out.wait_for(node, is_rank(node) ? kInside : kFromBelow);
        break;
      case kFromAbove:
        out.receive(above(node), beneath(node), kIn, Combine::copy, kDown);
        break;
      default:
        each_child(node, [&](int child) { out.send(child, beneath(child), kIn, kDown); });
        out.wait_for(node, has(node, kFromAbove) ? kFromAbove : kFromBelow);
    }
  }
};

class TreeAllGather final : public TreeHalf {
 public:
  using TreeHalf::TreeHalf;

 private:
  void write(const Out& out, int node, int lane) const override {
    const Buffer in = is_rank(node) ? Buffer::data : Buffer::output;
    switch (lane) {
      case kFromBelow:
        each_child(node,
                   [&](int child) { out.receive(child, beneath(child), in, Combine::copy, kUp); });
        break;
      case kToAbove:
        out.send(above(node), beneath(node), in, kUp);
        out.wait_for(node, kFromBelow);
        break;
      case kFromAbove:
        out.receive(above(node), others(node), in, Combine::copy, kDown);
        break;
      case kToBelow:
        each_child(node, [&](int child) { out.send(child, others(child), in, kDown); });
        out.wait_for(node, kFromBelow);
        out.wait_for(node, kFromAbove);
        break;
      default:
        each_neighbour(node, [&](int peer) { out.send(peer, rails(node), in, kSide); });
        each_neighbour(node,
                       [&](int peer) { out.receive(peer, rails(peer), in, Combine::copy, kSide); });
        out.wait_for(node, kFromAbove);
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
