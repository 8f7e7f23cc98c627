#include "strategies/collectives/row_helpers.hpp"
#include "strategies/collectives/schedules/block_schedule.hpp"
#include "strategies/collectives/schedules/ceil_lg.hpp"

/// Binomial-tree all-reduce: a binomial reduce to rank 0, then a binomial broadcast from there. For
/// short messages among any number of ranks.
/// In: n >= 1 ranks, S bytes on each. Chunks: the whole buffer, one block.
namespace lockstep {
namespace {

/// In round k of the reduce, ranks that are odd multiples of 2^k send to the rank 2^k below. The
/// broadcast does the same backwards.
class BinomialTree final : public BlockSchedule {
 public:
  explicit BinomialTree(int n) : BlockSchedule(n, 1), depth_{ceil_lg(n)} {}

  [[nodiscard]] std::int64_t steps(int, int) const override { return 2 * std::int64_t{depth_}; }

  void step(int rank, int, std::int64_t index, ScheduleStep& step) const override {
    const bool reducing = index < depth_;
    const int round = static_cast<int>(reducing ? index : 2 * depth_ - 1 - index);
    const int distance = 1 << round;
    const bool child = rank % (2 * distance) == distance;
    const bool parent = rank % (2 * distance) == 0 && distance < n() - rank;
    const Combine combine = reducing ? Combine::reduce : Combine::copy;
    if (reducing ? child : parent)
      step.sends.push_back({reducing ? rank - distance : rank + distance, whole()});
    if (reducing ? parent : child)
      step.receives.push_back({reducing ? rank + distance : rank - distance, whole(), combine});
  }

 private:
  int depth_;
};

SchedulePtr make_binomial_tree(int n) {
  return std::make_shared<BinomialTree>(n);
}

CollectiveCost binomial_tree_cost(int n) {
  const std::int64_t depth = ceil_lg(n);
  return {
      .rounds = 2 * depth, .path_blocks = 2 * depth, .reduced_blocks = depth, .sent_blocks = depth};
}

}  // namespace

CollectiveAlgorithm all_reduce_binomial_tree_row() {
  return {.collective = Collective::all_reduce,
          .name = "binomial_tree",
          .summary = "binomial reduce to rank 0, then binomial broadcast: for short messages",
          .limits = rows::kAnyRanks,
          .rounds = "2 ceil(lg n)",
          .sent_per_rank = "ceil(lg n)*S by rank 0",
          .time = "2 ceil(lg n)*(alpha + S*beta) + ceil(lg n)*S*gamma",
          .example = "binomial_tree",
          .source = rows::kThakur,
          .file = "binomial_tree.cpp",
          .make = rows::of_n<make_binomial_tree>,
          .cost = rows::of_n<binomial_tree_cost>};
}

}  // namespace lockstep
