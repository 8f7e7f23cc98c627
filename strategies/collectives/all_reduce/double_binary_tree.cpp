#include <algorithm>
#include <numeric>

#include "strategies/collectives/all_reduce/row_parts.hpp"
#include "strategies/collectives/chunk_count.hpp"
#include "strategies/collectives/row_helpers.hpp"
#include "strategies/collectives/schedules/compose.hpp"
#include "strategies/collectives/schedules/pipeline_rounds.hpp"
#include "strategies/collectives/schedules/trees/pipelined_tree.hpp"

/// Double-binary-tree all-reduce, pipelined: half of the data goes up and down one binary tree,
/// half another, in which (nearly) every inner rank of the first is a leaf, so that all ports are
/// used. The second tree is the first one's mirror where n is even, else it is shifted by one rank.
/// On m nodes of several ranks, g each, both are trees of nodes (mirrored where m is even), and in
/// each node a chain hangs below its first rank. With several channels as many pairs of trees, each
/// on its own slice of the data; in channel k's every node begins with its rank k, so that they use
/// other NICs. Nodes of different sizes are taken in parts of the largest size that divides all.
/// What a rank does for both trees in one instant it does first for the tree in which
/// its node is an inner one, so that a node and its mirror image do the same.
/// In: n >= 1 ranks, S bytes on each. Chunks: 2*channels*c blocks; c in every tree.
/// The depth d is ceil(lg n), or ceil(lg m) + g-1 on nodes, whose first rank sends 2S to other
///   nodes. Channels with NICs of their own divide beta. If c is not given it is sqrt(2d *
///   2S*beta/alpha), with one step of the chains in d.
/// Reference: NCCL 2.30.7, src/graph/trees.cc and connect.cc.
namespace lockstep {
namespace {

/// Nodes are those of the layout; of different sizes, parts of them as large as divides all.
[[nodiscard]] NodeTree tree_of(const AlgorithmInput& input) {
  const std::vector<int>& sizes = input.layout.node_sizes;
  if (sizes.empty()) return {input.n, input.layout.per_node};
  return {input.n, std::accumulate(sizes.begin(), sizes.end(), 0,
                                   [](int a, int b) { return std::gcd(a, b); })};
}

/// Where the second tree has its nodes.
RankOrder second_order(const NodeTree& tree) {
  const int per_node = tree.per_node();
  const int nodes = tree.nodes();
  const auto move = [per_node](int rank, int to_node) {
    return to_node * per_node + rank % per_node;
  };
  if (nodes % 2 == 0) {
    const auto mirror = [=](int i) { return move(i, nodes - 1 - i / per_node); };
    return {mirror, mirror};
  }
  return {[=](int place) { return move(place, (place / per_node + 1) % nodes); },
          [=](int rank) { return move(rank, (rank / per_node + nodes - 1) % nodes); }};
}

/// The ranks in order, every node's turned by `turn`.
RankOrder turned(int per_node, int turn) {
  const auto turn_by = [per_node](int rank, int by) {
    return rank - rank % per_node + (rank % per_node + by) % per_node;
  };
  const int forth = turn % per_node;
  return {[=](int place) { return turn_by(place, forth); },
          [=](int rank) { return turn_by(rank, per_node - forth); }};
}

/// Of the two trees of a channel, that in which the rank's node is an inner one, and so at an even
/// place, comes first.
StripePlaces inner_first(const NodeTree& tree, const RankOrder& second) {
  const int per_node = tree.per_node();
  return [per_node, second](int rank, int stripe) {
    const bool is_leaf_of_first = rank / per_node % 2 != 0;
    const bool is_leaf_of_second = second.place_of(rank) / per_node % 2 != 0;
    const int swapped = is_leaf_of_first && !is_leaf_of_second ? 1 : 0;
    return stripe ^ swapped;
  };
}

SchedulePtr make_double_binary_tree(const AlgorithmInput& input) {
  const NodeTree tree = tree_of(input);
  const int channels = rows::number(input, "channels");
  const SchedulePtr one =
      make_pipelined_tree(tree, chunk_count(input, double_binary_tree_rounds(input)));
  const RankOrder second = second_order(tree);
  std::vector<Stripe> stripes;
  for (int channel = 0; channel < channels; ++channel) {
    const RankOrder turn =
        channel % tree.per_node() == 0 ? RankOrder{} : turned(tree.per_node(), channel);
    stripes.push_back({one, turn});
    stripes.push_back({one, composed(turn, second)});
  }
  return side_by_side(std::move(stripes), inner_first(tree, second));
}

/// A block is one chunk's share of one tree of one channel.
std::optional<CollectiveCost> double_binary_tree_estimate(const AlgorithmInput& input) {
  const NodeTree tree = tree_of(input);
  if (input.n == 1 || tree.per_node() > 1) return std::nullopt;
  const std::int64_t channels = rows::number(input, "channels");
  const std::int64_t chunks = chunk_count(input, double_binary_tree_rounds(input));
  const std::int64_t rounds = chunks - 1 + std::int64_t{2} * tree.depth();
  const std::int64_t twice = 4 * channels;  // the blocks of two chunks
  return CollectiveCost{
      .rounds = rounds, .path_blocks = twice * rounds, .sent_blocks = twice * chunks};
}

}  // namespace

/// Every round takes alpha and twice the bytes of a chunk, so that each counts for two; channels
/// divide them as long as they have NICs of their own.
PipelineRounds double_binary_tree_rounds(const AlgorithmInput& input) {
  const NodeTree tree = tree_of(input);
  return {.fixed = std::int64_t{2} * 2 * tree.depth(),
          .per_chunk = std::min(rows::number(input, "channels"), tree.per_node())};
}

CollectiveAlgorithm all_reduce_double_binary_tree_row() {
  return {
      .collective = Collective::all_reduce,
      .name = "double_binary_tree",
      .summary = "each half over its own binary tree; inner ranks of one are leaves of the other",
      .parameters = {chunks_parameter(), rows::channels_parameter()},
      .limits = rows::kAnyRanks,
      .rounds = "chunks - 1 + 2 ceil(lg n)",
      .sent_per_rank = "2S; 1.5S where n is 3, S where n is 2",
      .time = "about (chunks - 1 + 2 ceil(lg n))*(alpha + 2S/chunks*beta) with one rank a node",
      .example = "double_binary_tree:channels=8,chunks=64",
      .source = "Sanders, Speck and Traeff 2009; as in NCCL",
      .file = "double_binary_tree.cpp",
      .make = make_double_binary_tree,
      .estimate = double_binary_tree_estimate};
}

}  // namespace lockstep
