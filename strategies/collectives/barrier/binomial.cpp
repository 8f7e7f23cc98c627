#include "strategies/collectives/barrier/algorithms.hpp"
#include "strategies/collectives/schedules/binomial_tree.hpp"
#include "strategies/collectives/schedules/block_schedule.hpp"

/// Binomial barrier: ranks are counted up a binomial tree and let go down the same tree.
/// In: n >= 1 ranks. Chunks: none; messages are empty.
/// Rounds 2*ceil(lg n); messages sent per rank at most ceil(lg n), by rank 0.
/// Ideal time 2*ceil(lg n)*alpha (alpha s per message).
/// Errors: none after validate(). Source: Mellor-Crummey and Scott 1991 (Algorithms for scalable
///   synchronization on shared-memory multiprocessors), section 3.2 (combining tree).
namespace lockstep::barrier {
namespace {

class Binomial final : public BlockSchedule {
 public:
  explicit Binomial(int n) : BlockSchedule(n, 1), tree_{n} {}

  [[nodiscard]] std::int64_t steps(int, int) const override { return 2 * tree_.rounds(); }

  void step(int rank, int, std::int64_t index, Step& step) const override {
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

}  // namespace

SchedulePtr make_binomial(int n) {
  return std::make_shared<Binomial>(n);
}

CollectiveCost binomial_cost(int n) {
  return {.rounds = 2 * std::int64_t{ceil_lg(n)}};
}

}  // namespace lockstep::barrier
