#include "strategies/collectives/row_helpers.hpp"
#include "strategies/collectives/schedules/block_schedule.hpp"

/// Naive all-reduce: rank 0 takes everybody's data one after the other, then sends the sum one
/// after the other. The baseline that every textbook improves on.
/// In: n >= 1 ranks, S bytes on each. Chunks: 1, the whole buffer.
namespace lockstep {
namespace {

class Naive final : public BlockSchedule {
 public:
  explicit Naive(int n) : BlockSchedule(n, 1) {}

  [[nodiscard]] std::int64_t steps(int rank, int) const override {
    return rank == 0 ? 2 * (std::int64_t{n()} - 1) : 2;
  }

  void step(int rank, int, std::int64_t index, ScheduleStep& step) const override {
    if (rank != 0) {
      leaf_step(index, step);
    } else if (index < n() - 1) {
      step.receives.push_back({static_cast<int>(index) + 1, whole(), Combine::reduce});
    } else {
      step.sends.push_back({static_cast<int>(index - (n() - 1)) + 1, whole()});
    }
  }

 private:
  void leaf_step(std::int64_t index, ScheduleStep& step) const {
    if (index == 0) {
      step.sends.push_back({0, whole()});
    } else {
      step.receives.push_back({0, whole(), Combine::copy});
    }
  }
};

SchedulePtr make_naive(int n) {
  return std::make_shared<Naive>(n);
}

CollectiveCost naive_cost(int n) {
  const std::int64_t leaves = n - 1;
  return {.rounds = 2 * leaves,
          .path_blocks = 2 * leaves,
          .reduced_blocks = leaves,
          .sent_blocks = leaves};
}

}  // namespace

CollectiveAlgorithm all_reduce_naive_row() {
  return {.collective = Collective::all_reduce,
          .name = "naive",
          .summary = "rank 0 receives all messages one by one, then sends the sum one by one",
          .limits = rows::kAnyRanks,
          .rounds = "2(n-1)",
          .sent_per_rank = "(n-1)*S by rank 0, S by every other",
          .time = "2(n-1)*(alpha + S*beta) + (n-1)*S*gamma",
          .example = "naive",
          .source = "Chan, Heimlich, Purkayastha and van de Geijn 2007, section 2",
          .file = "naive.cpp",
          .make = rows::of_n<make_naive>,
          .cost = rows::of_n<naive_cost>};
}

}  // namespace lockstep
