#include "strategies/collectives/broadcast/algorithms.hpp"
#include "strategies/collectives/schedules/binomial_tree.hpp"
#include "strategies/collectives/schedules/rooted.hpp"

/// Binomial broadcast: in every round all who have the message give it to somebody who has not; the
/// first goes furthest.
/// In: n >= 1 ranks, S bytes on the root. Chunks: the whole message, one block.
/// Rounds ceil(lg n); sent by the root S*ceil(lg n), by every other rank less.
/// Ideal time ceil(lg n)*(alpha + S*beta) (alpha s per message, beta s per byte sent).
/// Errors: none after validate(). Source: Thakur, Rabenseifner and Gropp 2005, section 4; Chan,
///   Heimlich, Purkayastha and van de Geijn 2007 (minimum spanning tree).
namespace lockstep::broadcast {
namespace {

class Binomial final : public RootedSchedule {
 public:
  Binomial(int n, int root) : RootedSchedule(n, root, 1), tree_{n} {}

  [[nodiscard]] std::int64_t steps(int, int) const override { return tree_.rounds(); }

  void step(int rank, int, std::int64_t index, Step& step) const override {
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

CollectiveCost binomial_cost(int n) {
  const std::int64_t rounds = ceil_lg(n);
  return {.rounds = rounds, .path_blocks = rounds, .reduced_blocks = 0, .sent_blocks = rounds};
}

}  // namespace lockstep::broadcast
