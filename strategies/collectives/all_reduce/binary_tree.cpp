#include "strategies/collectives/all_reduce/algorithms.hpp"
#include "strategies/collectives/chunk_count.hpp"
#include "strategies/collectives/schedules/pipeline_rounds.hpp"
#include "strategies/collectives/schedules/pipelined_tree.hpp"

/// Binary-tree all-reduce, pipelined: chunk after chunk is reduced up one binary tree and broadcast
/// down it again, both at once. Leaves use a third of what inner ranks have to send. On m nodes of
/// several ranks, g each, the tree is one of nodes, and in each a chain hangs below its first rank.
/// In: n >= 1 ranks, S bytes on each. Chunks: c blocks of ceil(count/c) elements.
/// Rounds c+1 of each rank, c - 1 + 2d from the first leaf to the last, where the depth d is
///   ceil(lg n), or ceil(lg m) + g-1; sent per rank at most 3S, S up and S to either child, and S
///   more down the chain.
/// Ideal time about (c - 1 + 2d)*(alpha + 3S/c*beta) (alpha s per message, beta s per byte sent); c
/// =
///   sqrt(2d * 3S*beta/alpha) if not given, d without the chains but for one step of them.
/// Errors: none after validate(). Source: Sanders, Speck and Traeff 2009.
namespace lockstep {

/// Every round takes alpha and three times a chunk's bytes, so that each counts for three.
PipelineRounds binary_tree_rounds(const AlgorithmInput& input) {
  return {.fixed = 3 * 2 * NodeTree{input.n, input.layout.per_node}.depth()};
}

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

}  // namespace lockstep
