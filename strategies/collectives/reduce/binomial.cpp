#include "strategies/collectives/broadcast/algorithms.hpp"
#include "strategies/collectives/row_helpers.hpp"
#include "strategies/collectives/schedules/ceil_lg.hpp"
#include "strategies/collectives/schedules/compose.hpp"
#include "strategies/collectives/schedules/rooted.hpp"

/// Binomial reduce: the binomial broadcast backwards. In every round half of those who still hold a
/// sum give it to a rank who adds it to its own; the last comes from furthest.
/// In: n >= 1 ranks, S bytes on each. Chunks: the whole message, one block.
/// Reference: minimum spanning tree in Chan, Heimlich, Purkayastha and van de Geijn 2007.
namespace lockstep::reduce {
namespace {

SchedulePtr make_binomial(int n, int root) {
  return reversed(broadcast::make_binomial(n, root), Combine::reduce);
}

CollectiveCost binomial_cost(int n) {
  const std::int64_t rounds = ceil_lg(n);
  return {.rounds = rounds,
          .path_blocks = rounds,
          .reduced_blocks = rounds,
          .sent_blocks = n > 1 ? 1 : 0};
}

}  // namespace

}  // namespace lockstep::reduce

namespace lockstep {

CollectiveAlgorithm reduce_binomial_row() {
  return {.collective = Collective::reduce,
          .name = "binomial",
          .summary = "pairs reduce, then pairs of pairs: half as many sums per round",
          .limits = rows::kAnyRanks,
          .rounds = "ceil(lg n)",
          .sent_per_rank = "S by all but the root",
          .time = "ceil(lg n)*(alpha + S*beta + S*gamma)",
          .example = "binomial",
          .source = rows::kThakur,
          .file = "binomial.cpp",
          .make = rows::of_root<reduce::make_binomial>,
          .cost = rows::of_n<reduce::binomial_cost>};
}

}  // namespace lockstep
