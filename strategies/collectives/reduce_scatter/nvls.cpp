#include "strategies/collectives/chunk_count.hpp"
#include "strategies/collectives/row_helpers.hpp"
#include "strategies/collectives/schedules/one_switch.hpp"

/// NVLS reduce-scatter: every rank sends block after block up to the node's switch, which adds and
/// returns each sum to its owner (a multimem load that reduces).
/// In: n >= 1 ranks of one node, S bytes on each; c chunks. The switch is rank n.
///   Chunks: c*n blocks; if c is not given it follows from size, alpha and beta.
/// A rank sends S and receives S/n, around a ring (n-1)/n*S each.
/// Reference: NCCL 2.30.7, src/device/reduce_scatter.h.
namespace lockstep {
namespace {

SchedulePtr make_nvls(const AlgorithmInput& input) {
  return one_switch_reduce_scatter(input.n, chunk_count(input, one_switch_rounds(input)));
}

std::optional<CollectiveCost> nvls_estimate(const AlgorithmInput& input) {
  return one_switch_estimate(input, input.n);
}

}  // namespace

CollectiveAlgorithm reduce_scatter_nvls_row() {
  return {.collective = Collective::reduce_scatter,
          .name = "nvls",
          .summary = "the NVSwitch of a node reduces",
          .parameters = {chunks_parameter()},
          .limits = "all ranks below one switch that reduces",
          .rounds = "n*chunks + 1",
          .sent_per_rank = "S",
          .time = "about (n*chunks + 1)*(alpha + S/(n*chunks)*beta)",
          .example = "nvls:chunks=16",
          .source = "NCCL 2.30.7, src/device/reduce_scatter.h",
          .file = "nvls.cpp",
          .make = make_nvls,
          .estimate = nvls_estimate,
          .refusal = one_switch_refusal,
          .auxiliary_ranks = AuxiliaryRanks::node_switches};
}

}  // namespace lockstep
