#include "strategies/collectives/all_reduce/algorithms.hpp"
#include "strategies/collectives/all_reduce/pipelined_tree.hpp"
#include "strategies/collectives/ceil_lg.hpp"
#include "strategies/collectives/chunk_count.hpp"

/// Binary-tree all-reduce, pipelined: chunk after chunk is reduced up one binary tree and broadcast
/// down it again, both at once. One tree uses half of what its leaves could send.
/// In: n >= 1 ranks, S bytes on each. Chunks: c blocks of ceil(count/c) elements.
/// Rounds c+1 of each rank, c + 2*ceil(lg n) from the first leaf to the last; sent per rank at most
///   3S, S up and S to either child.
/// Ideal time about (c + 2*ceil(lg n))*(alpha + 3S/c*beta) (alpha s per message, beta s per byte
///   sent); c = sqrt(2*ceil(lg n) * 3S*beta/alpha) if not given.
/// Errors: none after validate(). Source: Sanders, Speck and Traeff 2009, sections 2 and 3.
namespace lockstep {

SchedulePtr make_binary_tree(const AlgorithmInput& input) {
  // Every round takes alpha and three times a chunk's bytes, so that each counts for three.
  return make_pipelined_tree(input.n, chunk_count(input, {.fixed = 3 * 2 * ceil_lg(input.n)}));
}

}  // namespace lockstep
