#include "strategies/collectives/all_gather/algorithms.hpp"
#include "strategies/collectives/row_helpers.hpp"
#include "strategies/collectives/schedules/ceil_lg.hpp"
#include "strategies/collectives/schedules/compose.hpp"

/// PAT (parallel aggregated trees) reduce-scatter: its all-gather backwards. Every block is summed
/// up a binomial tree of its own, all trees in step; neighbors come first with half of everything,
/// the furthest ranks last with one block.
/// In: n >= 1 ranks, S bytes on each. Chunks: n blocks of ceil(count/n) elements; a message to the
///   rank 2^k behind has ceil((n - 2^k) / 2^(k+1)) of them, one piece each.
/// This is the algorithm with buffers for all blocks; with few buffers the first rounds are cut
/// into several of the same trees, one after the other.
namespace lockstep::reduce_scatter {
namespace {

SchedulePtr make_pat(int n) {
  return reversed(all_gather::make_pat(n), Combine::reduce);
}

CollectiveCost pat_cost(int n) {
  const std::int64_t others = n - 1;
  return {
      .rounds = ceil_lg(n), .path_blocks = others, .reduced_blocks = others, .sent_blocks = others};
}

}  // namespace

}  // namespace lockstep::reduce_scatter

namespace lockstep {

CollectiveAlgorithm reduce_scatter_pat_row() {
  return {
      .collective = Collective::reduce_scatter,
      .name = "pat",
      .summary = "parallel aggregated trees: neighbors first with much, far ranks last with little",
      .limits = rows::kAnyRanks,
      .rounds = "ceil(lg n)",
      .sent_per_rank = "(n-1)/n*S",
      .time = "ceil(lg n)*alpha + (n-1)/n*S*beta + (n-1)/n*S*gamma",
      .example = "pat",
      .source = "Jeaugey 2025, arXiv 2506.20252",
      .file = "pat.cpp",
      .make = rows::of_n<reduce_scatter::make_pat>,
      .cost = rows::of_n<reduce_scatter::pat_cost>};
}

}  // namespace lockstep
