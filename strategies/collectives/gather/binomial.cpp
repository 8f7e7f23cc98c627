#include <algorithm>
#include "strategies/collectives/gather/algorithms.hpp"

#include "strategies/collectives/row_helpers.hpp"
#include "strategies/collectives/schedules/cyclic_run.hpp"
#include "strategies/collectives/schedules/rooted.hpp"
#include "strategies/collectives/schedules/trees/binomial_tree.hpp"

/// Binomial gather: the binomial scatter backwards. In every round half of those who still hold
/// parts give all of theirs away; the last comes from furthest.
/// In: n >= 1 ranks, S/n bytes on each. Chunks: n blocks of ceil(count/n) elements; ranks on the
///   way keep those of others in their places. Where a run of ranks counted from the root passes
///   rank n-1, its blocks are two pieces of one message.
/// A rank sends as many blocks as its subtree has ranks.
/// Reference: minimum spanning tree in Chan, Heimlich, Purkayastha and van de Geijn 2007; also
///   Thakur, Rabenseifner and Gropp 2005, section 4.
namespace lockstep::gather {
namespace {

class Binomial final : public RootedSchedule {
 public:
  Binomial(int n, int root) : RootedSchedule(n, root, n), tree_{n} {}

  [[nodiscard]] std::int64_t steps(int, int) const override { return tree_.rounds(); }

  void step(int rank, int, std::int64_t index, ScheduleStep& step) const override {
    const int position = position_of(rank);
    const auto edge = tree_.edge(position, tree_.rounds() - 1 - static_cast<int>(index));
    if (!edge) return;
    const CyclicRun below{Buffer::data, rank_at(edge->child), edge->below(), n()};
    if (position == edge->parent) {
      step.receive(rank_at(edge->child), below.pieces(), Combine::copy);
    } else {
      step.send(rank_at(edge->parent), below.pieces());
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
  if (n == 1) return {};
  const std::int64_t half = std::int64_t{1} << (ceil_lg(n) - 1);
  return {.rounds = ceil_lg(n),
          .path_blocks = n - 1,
          .reduced_blocks = 0,
          .sent_blocks = std::max(n - half, half / 2)};
}

}  // namespace

}  // namespace lockstep::gather

namespace lockstep {

CollectiveAlgorithm gather_binomial_row() {
  return {.collective = Collective::gather,
          .name = "binomial",
          .summary = "pairs merge their blocks, then pairs of pairs",
          .limits = rows::kAnyRanks,
          .rounds = "ceil(lg n)",
          .sent_per_rank = "max(n - N/2, N/4)/n*S at most, N = 2^ceil(lg n)",
          .time = "ceil(lg n)*alpha + (n-1)/n*S*beta",
          .example = "binomial",
          .source = "Chan, Heimlich, Purkayastha and van de Geijn 2007",
          .file = "binomial.cpp",
          .make = rows::of_root<gather::make_binomial>,
          .cost = rows::of_n<gather::binomial_cost>};
}

}  // namespace lockstep
