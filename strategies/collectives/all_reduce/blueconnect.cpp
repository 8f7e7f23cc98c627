#include "strategies/collectives/all_reduce/bucket.hpp"
#include "strategies/collectives/all_reduce/row_parts.hpp"
#include "strategies/collectives/row_helpers.hpp"

/// BlueConnect all-reduce: the ranks as a grid of dimensions p1 x p2 x ..., fastest first; ring
/// reduce-scatters along one after the other, each on what the one before left, then ring
/// all-gathers back. Only the smallest part crosses the slowest dimension.
/// In: n >= 1 ranks, S bytes on each; dims, whose product is n. Chunks: n blocks of ceil(count/n)
///   elements.
/// Over links of several speeds the time is 2*sum_i((p_i-1)*alpha_i + (p_i-1)/p_i *
///   S/(p_1*...*p_(i-1)) * beta_i).
namespace lockstep {
namespace {

SchedulePtr make_blueconnect(const AlgorithmInput& input) {
  return make_bucket({.sizes = grid_of(input)});
}

std::optional<CollectiveCost> blueconnect_cost(const AlgorithmInput& input) {
  return bucket_cost(grid_of(input));
}

}  // namespace

CollectiveAlgorithm all_reduce_blueconnect_row() {
  return {.collective = Collective::all_reduce,
          .name = "blueconnect",
          .summary = "ring reduce-scatter along each dimension in turn, then all-gather back",
          .parameters = {rows::dims_parameter()},
          .limits = "n is the product of dims",
          .rounds = "2 sum(p-1) over dimensions p",
          .sent_per_rank = "2(n-1)/n*S",
          .time = "2*sum(p-1)*alpha + 2(n-1)/n*S*beta + (n-1)/n*S*gamma over dimensions p",
          .example = "blueconnect:dims=8x4",
          .source = "Cho et al. 2019 (BlueConnect)",
          .file = "blueconnect.cpp",
          .make = make_blueconnect,
          .cost = blueconnect_cost,
          .refusal = grid_refusal};
}

}  // namespace lockstep
