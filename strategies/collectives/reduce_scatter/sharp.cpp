#include "strategies/collectives/row_helpers.hpp"
#include "strategies/collectives/schedules/trees/tree_halves.hpp"

/// SHARP reduce-scatter: the network's switches add up on the way to the root of their tree; sums
/// go back to their owners alone. In nodes of g ranks a direct reduce-scatter comes before, after
/// which rank i of every node sends what its node has for the ranks i up the tree of its rail.
/// In: n >= 1 ranks, S bytes on each; ranks of the same place in their nodes below one tree of
///   switches; c chunks. The switches are ranks n, n+1, ... Chunks: n blocks, c*n where
///   c > n/g; if c is not given it follows from size, alpha and beta.
/// A rank sends S/g to the network and receives S/n, around a ring (n-1)/n*S each.
/// Reference: release notes of NCCL 2.27 (SHARP for all-gather and reduce-scatter).
namespace lockstep {
namespace {

SchedulePtr make_sharp(const AlgorithmInput& input) {
  return tree_reduce_scatter(reduction_trees_of(input),
                             chunk_count(input, tree_half_rounds(input)));
}

}  // namespace

CollectiveAlgorithm reduce_scatter_sharp_row() {
  return {.collective = Collective::reduce_scatter,
          .name = "sharp",
          .summary = "network switches reduce, shards of nodes rail by rail",
          .parameters = {chunks_parameter()},
          .limits = "switches that reduce in the network",
          .rounds = "chunks - 1 + 2 per level of switches, and 1 inside nodes",
          .sent_per_rank = "S/G to the network and (G-1)/G*S inside nodes of G",
          .time = "about (chunks - 1 + 2 levels)*alpha + S*beta with one rank a node",
          .example = "sharp:chunks=16",
          .source = "NCCL 2.27; Graham et al. 2016 (SHArP)",
          .file = "sharp.cpp",
          .make = make_sharp,
          .refusal = reduction_trees_refusal,
          .auxiliary_ranks = AuxiliaryRanks::fabric_switches};
}

}  // namespace lockstep
