#include "strategies/collectives/all_reduce/algorithms.hpp"
#include "strategies/collectives/all_reduce/bucket.hpp"

/// BlueConnect all-reduce: the ranks as a grid of dimensions p1 x p2 x ..., fastest first; ring
/// reduce-scatters along one after the other, each on what the one before left, then ring
/// all-gathers back. Only the smallest part crosses the slowest dimension.
/// In: n >= 1 ranks, S bytes on each; dims, whose product is n. Chunks: n blocks of ceil(count/n)
///   elements.
/// Rounds 2*sum(p-1); sent per rank 2(n-1) blocks.
/// Ideal time 2*sum(p-1)*alpha + 2(n-1)/n*S*beta + (n-1)/n*S*gamma
///   (alpha s per message, beta s per byte sent, gamma s per byte reduced); over links of several
///   speeds 2*sum_i((p_i-1)*alpha_i + (p_i-1)/p_i * S/(p_1*...*p_(i-1)) * beta_i).
/// Errors: none after validate(). Source: Cho et al. 2019 (BlueConnect).
namespace lockstep {

SchedulePtr make_blueconnect(const AlgorithmInput& input) {
  return make_bucket({.sizes = grid_of(input)});
}

std::optional<CollectiveCost> blueconnect_cost(const AlgorithmInput& input) {
  return bucket_cost(grid_of(input));
}

}  // namespace lockstep
