#include "strategies/collectives/gather/algorithms.hpp"
#include "strategies/collectives/row_helpers.hpp"
#include "strategies/collectives/scatter/algorithms.hpp"
#include "strategies/collectives/schedules/compose.hpp"
#include "strategies/collectives/schedules/rooted.hpp"

/// Direct scatter: the root sends every rank its block, all at once.
/// In: n >= 1 ranks, S bytes on the root. Chunks: n blocks of ceil(count/n) elements.
/// Messages leave in the order root+1, root+2, ...
/// Reference: NCCL, documentation of point-to-point communication (one-to-all as grouped sends and
///   receives).
namespace lockstep::scatter {

SchedulePtr make_direct(int n, int root) {
  return reversed(gather::make_direct(n, root), Combine::copy);
}

CollectiveCost direct_cost(int n) {
  const std::int64_t leaves = n - 1;
  return {
      .rounds = n > 1 ? 1 : 0, .path_blocks = leaves, .reduced_blocks = 0, .sent_blocks = leaves};
}

}  // namespace lockstep::scatter

namespace lockstep {

CollectiveAlgorithm scatter_direct_row() {
  return {.collective = Collective::scatter,
          .name = "direct",
          .summary = "the root sends every rank its block, all at once",
          .limits = rows::kAnyRanks,
          .rounds = "1",
          .sent_per_rank = "(n-1)/n*S by the root",
          .time = "alpha + (n-1)/n*S*beta",
          .example = "direct",
          .source = "NCCL, grouped sends and receives",
          .file = "direct.cpp",
          .make = rows::of_root<scatter::make_direct>,
          .cost = rows::of_n<scatter::direct_cost>};
}

}  // namespace lockstep
