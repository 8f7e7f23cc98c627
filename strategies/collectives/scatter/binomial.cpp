#include "strategies/collectives/gather/algorithms.hpp"
#include "strategies/collectives/row_helpers.hpp"
#include "strategies/collectives/schedules/ceil_lg.hpp"
#include "strategies/collectives/schedules/compose.hpp"
#include "strategies/collectives/schedules/rooted.hpp"

/// Binomial scatter: each holder of the blocks of a run of ranks sends the further half of the run
/// away; the first goes furthest.
/// In: n >= 1 ranks, S bytes on the root. Chunks: n blocks of ceil(count/n) elements; ranks on the
///   way keep those of others in their places. Where a run of ranks counted from the root passes
///   rank n-1, its blocks are two pieces of one message.
/// Reference: minimum spanning tree in Chan, Heimlich, Purkayastha and van de Geijn 2007; also
///   Thakur, Rabenseifner and Gropp 2005, section 4.
namespace lockstep::scatter {
namespace {

SchedulePtr make_binomial(int n, int root) {
  return reversed(gather::make_binomial(n, root), Combine::copy);
}

CollectiveCost binomial_cost(int n) {
  const std::int64_t others = n - 1;
  return {.rounds = ceil_lg(n), .path_blocks = others, .reduced_blocks = 0, .sent_blocks = others};
}

}  // namespace

}  // namespace lockstep::scatter

namespace lockstep {

CollectiveAlgorithm scatter_binomial_row() {
  return {.collective = Collective::scatter,
          .name = "binomial",
          .summary = "each holder sends half of its blocks to the middle of its run of ranks",
          .limits = rows::kAnyRanks,
          .rounds = "ceil(lg n)",
          .sent_per_rank = "(n-1)/n*S by the root, less by others",
          .time = "ceil(lg n)*alpha + (n-1)/n*S*beta",
          .example = "binomial",
          .source = "Chan, Heimlich, Purkayastha and van de Geijn 2007",
          .file = "binomial.cpp",
          .make = rows::of_root<scatter::make_binomial>,
          .cost = rows::of_n<scatter::binomial_cost>};
}

}  // namespace lockstep
