#include "strategies/collectives/copy_engines.hpp"
#include "strategies/collectives/gather/algorithms.hpp"
#include "strategies/collectives/row_helpers.hpp"
#include "strategies/collectives/schedules/rooted.hpp"

/// Copy-engine gather: every rank writes its block to the root at once, as the direct algorithm
/// does, by copies that the GPU's copy engines make; the multiprocessors stay with computation. In:
/// n >= 1 ranks of one NVLink domain, 0 <= root < n. Chunks: n blocks of ceil(count/n) elements.
/// What the launch costs is no part of the schedule (NcclTuning::windows).
/// Reference: NCCL 2.28, copy-engine collectives.
namespace lockstep {

CollectiveAlgorithm gather_copy_engine_row() {
  return {.collective = Collective::gather,
          .name = "copy_engine",
          .summary = "copies to the root at once, by copy engines: no multiprocessors",
          .limits = rows::kOneNvlinkDomain,
          .rounds = "1",
          .sent_per_rank = "S/n by all but the root",
          .time = "alpha + (n-1)/n*S*beta",
          .example = "copy_engine",
          .source = rows::kNcclCopyEngines,
          .file = "copy_engine.cpp",
          .make = rows::of_root<gather::make_direct>,
          .cost = rows::of_n<gather::direct_cost>,
          .refusal = copy_engines_refusal,
          .on_copy_engines = true};
}

}  // namespace lockstep
