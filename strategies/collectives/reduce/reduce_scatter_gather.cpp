#include <algorithm>

#include "strategies/collectives/reduce/algorithms.hpp"
#include "strategies/collectives/schedules/binomial_tree.hpp"
#include "strategies/collectives/schedules/extra_rank.hpp"
#include "strategies/collectives/schedules/rooted.hpp"

/// Reduce-scatter and gather reduce (Rabenseifner): a reduce-scatter by recursive halving, then the
/// root gathers the sums up a binomial tree.
/// In: n >= 1 ranks, S bytes on each; where n is not a power of two, n-N' ranks first give their
///   data to a partner, so that N' = 2^floor(lg n) remain. Chunks: N' blocks of ceil(count/N').
/// Rounds 2*lg N', 1 more where n is not a power of two; sent per rank at most (N'-1)/N'*S + S/2,
///   by those who gave theirs away S.
/// Ideal time 2*lg N'*alpha + 2(N'-1)/N'*S*beta + (N'-1)/N'*S*gamma, and alpha + S*beta + S*gamma
///   more where n is not a power of two (alpha s per message, beta s per byte sent, gamma s per
///   byte reduced).
/// Errors: none after validate(). Source: Rabenseifner 2004 (Optimization of collective reduction
///   operations); Thakur, Rabenseifner and Gropp 2005, section 4.
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

  void step(int rank, int, std::int64_t index, Step& step) const override {
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

  void fold_step(int position, Step& step) const {
    if (core_.is_extra(position)) step.sends.push_back({rank_at(position - 1), whole()});
    if (core_.is_partner(position))
      step.receives.push_back({rank_at(position + 1), whole(), Combine::reduce});
  }

  /// Keeps the aligned run of `half` blocks, a power of two, that its own lies in.
  void halve(int core_index, int half, Step& step) const {
    const int peer = core_index ^ half;
    step.sends.push_back({rank_of(peer), {Buffer::data, peer & ~(half - 1), half}});
    step.receives.push_back(
        {rank_of(peer), {Buffer::data, core_index & ~(half - 1), half}, Combine::reduce});
  }

  void gather(int core_index, int tree_round, Step& step) const {
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

}  // namespace

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

}  // namespace lockstep::reduce
