#include "strategies/collectives/barrier/algorithms.hpp"
#include "strategies/collectives/row_helpers.hpp"
#include "strategies/collectives/schedules/block_schedule.hpp"
#include "strategies/collectives/schedules/trees/binomial_tree.hpp"

/// Binomial barrier: gather arrivals up a binomial tree, release down the same tree.
/// In: n >= 1 ranks. Chunks: none; messages are empty.
/// Rank 0 sends most messages, ceil(lg n).
/// Reference: combining tree in Mellor-Crummey and Scott 1991 (Algorithms for scalable
///   synchronization on shared-memory multiprocessors).
namespace lockstep::barrier {
namespace {

class Binomial final : public BlockSchedule {
 public:
  explicit Binomial(int n) : BlockSchedule(n, 1), tree_{n} {}

  [[nodiscard]] std::int64_t steps(int, int) const override { return 2 * tree_.rounds(); }

  void step(int rank, int, std::int64_t index, ScheduleStep& step) const override {
    const int round = static_cast<int>(index) - tree_.rounds();
    const bool up = round < 0;
    const auto edge = tree_.edge(rank, up ? -1 - round : round);
    if (!edge) return;
    const bool parent = rank == edge->parent;
    const int peer = parent ? edge->child : edge->parent;
    if (parent == up) {
      step.receives.push_back({peer, kNoBlocks});
    } else {
      step.sends.push_back({peer, kNoBlocks});
    }
  }

 private:
  BinomialTree tree_;
};

SchedulePtr make_binomial(int n) {
  return std::make_shared<Binomial>(n);
}

}  // namespace

CollectiveCost binomial_cost(int n) {
  return {.rounds = 2 * std::int64_t{ceil_lg(n)}};
}

}  // namespace lockstep::barrier

namespace lockstep {

CollectiveAlgorithm barrier_binomial_row() {
  return {.collective = Collective::barrier,
          .name = "binomial",
          .summary = "gather arrivals up a binomial tree, release down the same tree",
          .limits = rows::kAnyRanks,
          .rounds = "2*ceil(lg n)",
          .sent_per_rank = "0 (messages are empty)",
          .time = "2*ceil(lg n)*alpha",
          .example = "binomial",
          .source = "Mellor-Crummey and Scott 1991, section 3.2",
          .file = "binomial.cpp",
          .make = rows::of_n<barrier::make_binomial>,
          .cost = rows::of_n<barrier::binomial_cost>};
}

}  // namespace lockstep
