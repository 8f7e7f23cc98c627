#include "strategies/collectives/chunk_count.hpp"
#include "strategies/collectives/row_helpers.hpp"
#include "strategies/collectives/schedules/one_switch.hpp"

/// NVLS all-gather: every rank stores its blocks in the node's switch, which multicasts them to all
/// (a multimem store).
/// In: n >= 1 ranks of one node, S bytes over all; c chunks. The switch is rank n.
///   Chunks: c*n blocks; if c is not given it follows from size, alpha and beta.
/// A rank sends S/n and receives S, around a ring (n-1)/n*S each.
/// Reference: NCCL 2.30.7, src/device/all_gather.h.
namespace lockstep {
namespace {

SchedulePtr make_nvls(const AlgorithmInput& input) {
  return one_switch_all_gather(input.n, chunk_count(input, one_switch_rounds(input)));
}

std::optional<CollectiveCost> nvls_estimate(const AlgorithmInput& input) {
  return one_switch_estimate(input, 1);
}

}  // namespace

CollectiveAlgorithm all_gather_nvls_row() {
  return {.collective = Collective::all_gather,
          .name = "nvls",
          .summary = "the NVSwitch of a node multicasts",
          .parameters = {chunks_parameter()},
          .limits = "all ranks below one switch that reduces",
          .rounds = "n*chunks + 1",
          .sent_per_rank = "S/n",
          .time = "about (n*chunks + 1)*(alpha + S/(n*chunks)*beta)",
          .example = "nvls:chunks=16",
          .source = "NCCL 2.30.7, src/device/all_gather.h",
          .file = "nvls.cpp",
          .make = make_nvls,
          .estimate = nvls_estimate,
          .refusal = one_switch_refusal,
          .auxiliary_ranks = AuxiliaryRanks::node_switches};
}

}  // namespace lockstep
