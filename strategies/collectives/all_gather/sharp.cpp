#include "strategies/collectives/row_helpers.hpp"
#include "strategies/collectives/schedules/trees/tree_halves.hpp"

/// SHARP all-gather: every rank sends its block to the network once, whose switches multicast it.
/// In nodes of g ranks each gets the blocks of its rail; a direct all-gather comes after.
/// In: n >= 1 ranks, S bytes over all; ranks of the same place in their nodes below one tree of
///   switches; c chunks. The switches are ranks n, n+1, ... Chunks: n blocks, c*n where
///   c > n/g; if c is not given it follows from size, alpha and beta.
/// A rank sends S/n to the network and receives S/g of which S/n is its own, around a ring
///   (n-1)/n*S each.
/// Reference: release notes of NCCL 2.27 (SHARP for all-gather and reduce-scatter).
namespace lockstep {
namespace {

SchedulePtr make_sharp(const AlgorithmInput& input) {
  return tree_all_gather(reduction_trees_of(input), chunk_count(input, tree_half_rounds(input)));
}

}  // namespace

CollectiveAlgorithm all_gather_sharp_row() {
  return {.collective = Collective::all_gather,
          .name = "sharp",
          .summary = "network switches multicast, rail by rail",
          .parameters = {chunks_parameter()},
          .limits = "switches that reduce in the network",
          .rounds = "chunks - 1 + 2 per level of switches, and 1 inside nodes",
          .sent_per_rank = "S/n to the network and (G-1)/G*S inside nodes of G",
          .time = "about (chunks - 1 + 2 levels)*alpha + S*beta with one rank a node",
          .example = "sharp:chunks=16",
          .source = "NCCL 2.27; Graham et al. 2016 (SHArP)",
          .file = "sharp.cpp",
          .make = make_sharp,
          .refusal = reduction_trees_refusal,
          .auxiliary_ranks = AuxiliaryRanks::fabric_switches};
}

}  // namespace lockstep
