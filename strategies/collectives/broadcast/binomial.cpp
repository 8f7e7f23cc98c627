#include "strategies/collectives/broadcast/algorithms.hpp"
#include "strategies/collectives/row_helpers.hpp"
#include "strategies/collectives/schedules/rooted.hpp"
#include "strategies/collectives/schedules/trees/binomial_tree.hpp"

/// Binomial broadcast: in every round all who have the message give it to somebody who has not; the
/// first goes furthest.
/// In: n >= 1 ranks, S bytes on the root. Chunks: the whole message, one block.
/// Reference: minimum spanning tree in Chan, Heimlich, Purkayastha and van de Geijn 2007.
namespace lockstep::broadcast {
namespace {

class Binomial final : public RootedSchedule {
 public:
  Binomial(int n, int root) : RootedSchedule(n, root, 1), tree_{n} {}

  [[nodiscard]] std::int64_t steps(int, int) const override { return tree_.rounds(); }

  void step(int rank, int, std::int64_t index, ScheduleStep& step) const override {
    const int position = position_of(rank);
    const auto edge = tree_.edge(position, static_cast<int>(index));
    if (!edge) return;
    if (position == edge->parent) {
      step.sends.push_back({rank_at(edge->child), whole()});
    } else {
      step.receives.push_back({rank_at(edge->parent), whole()});
    }
  }

 private:
  BinomialTree tree_;
};

}  // namespace

SchedulePtr make_binomial(int n, int root) {
  return std::make_shared<Binomial>(n, root);
}

namespace {

CollectiveCost binomial_cost(int n) {
  const std::int64_t rounds = ceil_lg(n);
  return {.rounds = rounds, .path_blocks = rounds, .reduced_blocks = 0, .sent_blocks = rounds};
}

}  // namespace

}  // namespace lockstep::broadcast

namespace lockstep {

CollectiveAlgorithm broadcast_binomial_row() {
  return {.collective = Collective::broadcast,
          .name = "binomial",
          .summary = "every holder forwards the message; the number of holders doubles per round",
          .limits = rows::kAnyRanks,
          .rounds = "ceil(lg n)",
          .sent_per_rank = "ceil(lg n)*S by the root, less by others",
          .time = "ceil(lg n)*(alpha + S*beta)",
          .example = "binomial",
          .source = rows::kThakur,
          .file = "binomial.cpp",
          .make = rows::of_root<broadcast::make_binomial>,
          .cost = rows::of_n<broadcast::binomial_cost>};
}

}  // namespace lockstep
