#include "strategies/collectives/all_reduce/algorithms.hpp"
#include "strategies/collectives/all_reduce/pipelined_tree.hpp"
#include "strategies/collectives/ceil_lg.hpp"
#include "strategies/collectives/chunk_count.hpp"
#include "strategies/collectives/compose.hpp"
#include "strategies/collectives/row_helpers.hpp"

/// Double-binary-tree all-reduce, pipelined: half of the data goes up and down one binary tree,
/// half another, in which (nearly) every inner rank of the first is a leaf, so that all ports are
/// used. The second tree is the first one's mirror where n is even, else it is shifted by one rank.
/// With several channels as many pairs of trees, each on its own slice of the data; channel k's
/// have every GPU's number in its node k higher, so that each uses other NICs. In: n >= 1 ranks, S
/// bytes on each. Chunks: 2*channels*c blocks; c in every tree. Rounds c+1 of each rank, c +
/// 2*ceil(lg n) from the first leaf to the last; sent per rank at most
///   2S (1.5S where n = 3, S where n = 2).
/// Ideal time about (c + 2*ceil(lg n))*(alpha + 2S/c*beta) (alpha s per message, beta s per byte
///   sent); c = sqrt(2*ceil(lg n) * 2S*beta/alpha) if not given.
/// Errors: none after validate(). Source: Sanders, Speck and Traeff 2009, sections 3 and 4; NCCL
///   2.30.7, src/graph/trees.cc.
namespace lockstep {
namespace {

/// Where the second tree has its ranks.
RankOrder mirrored_or_shifted(int n) {
  if (n % 2 == 0) {
    const auto mirror = [n](int i) { return n - 1 - i; };
    return {mirror, mirror};
  }
  return {[n](int place) { return place + 1 == n ? 0 : place + 1; },
          [n](int rank) { return rank == 0 ? n - 1 : rank - 1; }};
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

}  // namespace

SchedulePtr make_double_binary_tree(const AlgorithmInput& input) {
  const int n = input.n;
  const int channels = rows::number(input, "channels");
  // Every round takes alpha and twice a chunk's bytes, so that each counts for two.
  const SchedulePtr tree =
      make_pipelined_tree(n, chunk_count(input, {.fixed = 2 * 2 * ceil_lg(n)}));
  const SchedulePtr pair = side_by_side({{tree}, {tree, mirrored_or_shifted(n)}});
  std::vector<Stripe> stripes;
  for (int channel = 0; channel < channels; ++channel)
    stripes.push_back({pair, turned(input.layout.per_node, channel)});
  return side_by_side(std::move(stripes));
}

}  // namespace lockstep
