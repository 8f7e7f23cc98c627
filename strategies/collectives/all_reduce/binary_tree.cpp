#include "strategies/collectives/chunk_count.hpp"
#include "strategies/collectives/row_helpers.hpp"
#include "strategies/collectives/schedules/pipeline_rounds.hpp"
#include "strategies/collectives/schedules/trees/pipelined_tree.hpp"

/// Binary-tree all-reduce, pipelined: chunk after chunk is reduced up one binary tree and broadcast
/// down it again, both at once. Leaves use a third of what inner ranks have to send. On m nodes of
/// several ranks, g each, the tree is one of nodes, and in each a chain hangs below its first rank.
/// In: n >= 1 ranks, S bytes on each. Chunks: c blocks of ceil(count/c) elements.
/// The depth d is ceil(lg n), or ceil(lg m) + g-1 on nodes, where ranks send S more down the chain.
///   If c is not given it is sqrt(2d * 3S*beta/alpha), with one step of the chains in d.
namespace lockstep {
namespace {

SchedulePtr make_binary_tree(const AlgorithmInput& input) {
  const NodeTree tree{input.n, input.layout.per_node};
  return make_pipelined_tree(tree, chunk_count(input, binary_tree_rounds(input)));
}

std::optional<CollectiveCost> binary_tree_estimate(const AlgorithmInput& input) {
  if (input.n == 1 || input.layout.per_node > 1) return std::nullopt;
  const NodeTree tree{input.n, 1};
  const std::int64_t chunks = chunk_count(input, binary_tree_rounds(input));
  const std::int64_t rounds = chunks - 1 + 2 * tree.depth();
  return CollectiveCost{.rounds = rounds, .path_blocks = 3 * rounds, .sent_blocks = 3 * chunks};
}

}  // namespace

/// Every round takes alpha and three times a chunk's bytes, so that each counts for three.
PipelineRounds binary_tree_rounds(const AlgorithmInput& input) {
  return {.fixed = 3 * 2 * NodeTree{input.n, input.layout.per_node}.depth()};
}

CollectiveAlgorithm all_reduce_binary_tree_row() {
  return {.collective = Collective::all_reduce,
          .name = "binary_tree",
          .summary = "up and down one binary tree, chunk after chunk",
          .parameters = {chunks_parameter()},
          .limits = rows::kAnyRanks,
          .rounds = "chunks - 1 + 2 ceil(lg n)",
          .sent_per_rank = "3S by a rank with two children",
          .time = "about (chunks - 1 + 2 ceil(lg n))*(alpha + 3S/chunks*beta) with one rank a node",
          .example = "binary_tree:chunks=64",
          .source = "Sanders, Speck and Traeff 2009",
          .file = "binary_tree.cpp",
          .make = make_binary_tree,
          .estimate = binary_tree_estimate};
}

}  // namespace lockstep
