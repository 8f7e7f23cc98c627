#include "strategies/collectives/all_gather/algorithms.hpp"
#include "strategies/collectives/row_helpers.hpp"
#include "strategies/collectives/schedules/block_schedule.hpp"
#include "strategies/collectives/schedules/ceil_lg.hpp"
#include "strategies/collectives/schedules/trees/parallel_trees.hpp"

/// PAT (parallel aggregated trees) all-gather: every block goes down a binomial tree of its own,
/// all trees in step. The furthest ranks come first, when there is one block to send; neighbors
/// come last and get half of everything.
/// In: n >= 1 ranks, S/n bytes on each. Chunks: n blocks of ceil(count/n) elements; a message to
///   the rank 2^k ahead has ceil((n - 2^k) / 2^(k+1)) of them, one piece each.
/// This is the algorithm with buffers for all blocks; with few buffers the last rounds are cut into
/// several of the same trees, one after the other.
namespace lockstep::all_gather {
namespace {

class Pat final : public BlockSchedule {
 public:
  explicit Pat(int n) : BlockSchedule(n), rounds_{ceil_lg(n)}, trees_{n} {}

  [[nodiscard]] std::int64_t steps(int, int) const override { return rounds_; }

  void step(int rank, int, std::int64_t index, ScheduleStep& step) const override {
    const int distance = 1 << (rounds_ - 1 - index);
    const int from = behind(rank, distance);
    step.send(ahead(rank, distance), trees_.blocks(rank, distance));
    step.receive(from, trees_.blocks(from, distance), Combine::copy);
  }

 private:
  int rounds_;
  ParallelTrees trees_;
};

CollectiveCost pat_cost(int n) {
  const std::int64_t others = n - 1;
  return {.rounds = ceil_lg(n), .path_blocks = others, .reduced_blocks = 0, .sent_blocks = others};
}

}  // namespace

SchedulePtr make_pat(int n) {
  return std::make_shared<Pat>(n);
}

}  // namespace lockstep::all_gather

namespace lockstep {

CollectiveAlgorithm all_gather_pat_row() {
  return {
      .collective = Collective::all_gather,
      .name = "pat",
      .summary = "parallel aggregated trees: far ranks first with little, neighbors last with much",
      .limits = rows::kAnyRanks,
      .rounds = "ceil(lg n)",
      .sent_per_rank = "(n-1)/n*S",
      .time = "ceil(lg n)*alpha + (n-1)/n*S*beta",
      .example = "pat",
      .source = "Jeaugey 2025, arXiv 2506.20252",
      .file = "pat.cpp",
      .make = rows::of_n<all_gather::make_pat>,
      .cost = rows::of_n<all_gather::pat_cost>};
}

}  // namespace lockstep
