#include <algorithm>

#include "strategies/collectives/row_helpers.hpp"
#include "strategies/collectives/schedules/extra_rank.hpp"
#include "strategies/collectives/schedules/rooted.hpp"
#include "strategies/collectives/schedules/trees/binomial_tree.hpp"

/// Reduce-scatter and gather reduce (Rabenseifner): a reduce-scatter by recursive halving, then the
/// root gathers the sums up a binomial tree.
/// In: n >= 1 ranks, S bytes on each; where n is not a power of two, n-N' ranks first give their
///   data to a partner, so that N' = 2^floor(lg n) remain. Chunks: N' blocks of ceil(count/N').
/// Ranks that gave their data to a partner send S.
/// Reference: Rabenseifner 2004 (Optimization of collective reduction operations).
namespace lockstep::reduce {
namespace {

/// Positions with an index in the core halve and gather; the root, position 0, has index 0. Block i
/// is that of index i.
class ReduceScatterGather final : public RootedSchedule {
 public:
  ReduceScatterGather(PowerOfTwoCore core, int n, int root)
      : RootedSchedule(n, root, core.size()), core_{core}, tree_{core.size()} {}

  [[nodiscard]] std::int64_t steps(int, int) const override {
    return 2 * core_.exponent() + fold();
  }

  void step(int rank, int, std::int64_t index, ScheduleStep& step) const override {
    const int position = position_of(rank);
    const int round = static_cast<int>(index) - fold();
    if (round < 0) {
      fold_step(position, step);
    } else if (core_.is_extra(position)) {
      return;
    } else if (round < core_.exponent()) {
      halve(core_.index_of(position), core_.size() >> (round + 1), step);
    } else {
      gather(core_.index_of(position), 2 * core_.exponent() - 1 - round, step);
    }
  }

 private:
  [[nodiscard]] int fold() const { return core_.extras() > 0 ? 1 : 0; }
  [[nodiscard]] int rank_of(int core_index) const { return rank_at(core_.rank_of(core_index)); }

  void fold_step(int position, ScheduleStep& step) const {
    if (core_.is_extra(position)) step.sends.push_back({rank_at(position - 1), whole()});
    if (core_.is_partner(position))
      step.receives.push_back({rank_at(position + 1), whole(), Combine::reduce});
  }

  /// Keeps the aligned run of `half` blocks, a power of two, that its own lies in.
  void halve(int core_index, int half, ScheduleStep& step) const {
    const int peer = core_index ^ half;
    step.sends.push_back({rank_of(peer), {Buffer::data, peer & ~(half - 1), half}});
    step.receives.push_back(
        {rank_of(peer), {Buffer::data, core_index & ~(half - 1), half}, Combine::reduce});
  }

  void gather(int core_index, int tree_round, ScheduleStep& step) const {
    const auto edge = tree_.edge(core_index, tree_round);
    if (!edge) return;
    const Chunk below{Buffer::data, edge->child, edge->below()};
    if (core_index == edge->parent) {
      step.receives.push_back({rank_of(edge->child), below});
    } else {
      step.sends.push_back({rank_of(edge->parent), below});
    }
  }

  PowerOfTwoCore core_;
  BinomialTree tree_;
};

SchedulePtr make_reduce_scatter_gather(int n, int root) {
  return std::make_shared<ReduceScatterGather>(PowerOfTwoCore{n}, n, root);
}

CollectiveCost reduce_scatter_gather_cost(int n) {
  const PowerOfTwoCore core{n};
  const std::int64_t all = core.size();
  const std::int64_t fold = core.extras() > 0 ? 1 : 0;
  return {.rounds = 2 * core.exponent() + fold,
          .path_blocks = 2 * (all - 1) + fold * all,
          .reduced_blocks = all - 1 + fold * all,
          .sent_blocks = std::max(all - 1 + all / 2, fold * all)};
}

}  // namespace

}  // namespace lockstep::reduce

namespace lockstep {

CollectiveAlgorithm reduce_reduce_scatter_gather_row() {
  return {.collective = Collective::reduce,
          .name = "reduce_scatter_gather",
          .summary = "recursive halving, then a binomial gather (Rabenseifner)",
          .limits = rows::kAnyRanks,
          .rounds = "2 lg n; 2 lg N' + 1 where n is not a power of two",
          .sent_per_rank = "(N'-1)/N'*S + S/2 at most",
          .time =
              "2 lg n*alpha + 2(n-1)/n*S*beta + (n-1)/n*S*gamma; where n is not a power of two "
              "(2 lg N' + 1)*alpha + (1 + 2(N'-1)/N')*S*beta + (1 + (N'-1)/N')*S*gamma",
          .example = "reduce_scatter_gather",
          .source = "Rabenseifner 2004; Thakur, Rabenseifner and Gropp 2005, section 4",
          .file = "reduce_scatter_gather.cpp",
          .make = rows::of_root<reduce::make_reduce_scatter_gather>,
          .cost = rows::of_n<reduce::reduce_scatter_gather_cost>};
}

}  // namespace lockstep
