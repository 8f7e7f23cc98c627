#include "strategies/collectives/chunk_count.hpp"
#include "strategies/collectives/row_helpers.hpp"
#include "strategies/collectives/schedules/one_switch.hpp"

/// NVLS all-gather: every rank stores its blocks in the node's switch, which multicasts them to all
/// (a multimem store). In: n >= 1 ranks of one node, S bytes over all; c chunks. The switch is rank
/// n. Chunks: c*n blocks. A rank sends S/n and receives S, (n-1)/n*S each around a ring. If c is
/// not given it follows from
///   size, alpha and beta.
/// Reference: NCCL 2.30.7, src/device/all_gather.h.
namespace lockstep {
namespace {

SchedulePtr make_nvls(const AlgorithmInput& input) {
  return one_switch_all_gather(input.n, chunk_count(input, one_switch_rounds(input)));
}

std::optional<CollectiveCost> nvls_estimate(const AlgorithmInput& input) {
  if (input.n == 1) return std::nullopt;
  const std::int64_t chunks = chunk_count(input, one_switch_rounds(input));
  const std::int64_t rounds = input.n * chunks + 1;
  return CollectiveCost{.rounds = rounds, .path_blocks = rounds, .sent_blocks = chunks};
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
