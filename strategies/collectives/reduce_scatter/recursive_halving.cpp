#include "strategies/collectives/reduce_scatter/algorithms.hpp"
#include "strategies/collectives/row_helpers.hpp"
#include "strategies/collectives/schedules/block_schedule.hpp"
#include "strategies/collectives/schedules/core_run.hpp"

/// Recursive-halving reduce-scatter: in every round a rank gives half of what it still sums up to
/// the rank across the halved group, the furthest first.
/// In: n >= 1 ranks, S bytes on each. Chunks: n blocks of ceil(count/n) elements. Where n is not a
///   power of two, n-N' extra ranks first give all their data to a partner and in the end get their
///   block of the sum from it; between, N' = 2^floor(lg n) ranks halve, partners for two.
/// p in the row's time is less than 3n.
namespace lockstep::reduce_scatter {
namespace {

class RecursiveHalving final : public BlockSchedule, public SymmetricSchedule {
 public:
  RecursiveHalving(PowerOfTwoCore core, int n) : BlockSchedule(n), core_{core} {}

  [[nodiscard]] std::optional<BlockMoves> moves() const override { return core_.exchanges_alike(); }
  [[nodiscard]] std::int64_t steps(int, int) const override {
    return core_.exponent() + 2 * fold();
  }

  void step(int rank, int, std::int64_t index, ScheduleStep& step) const override {
    const int round = static_cast<int>(index) - fold();
    if (round < 0) {
      give(rank, step);
    } else if (round == core_.exponent()) {
      take_back(rank, step);
    } else if (!core_.is_extra(rank)) {
      exchange(core_.index_of(rank), core_.size() >> (round + 1), step);
    }
  }

 private:
  [[nodiscard]] int fold() const { return core_.extras() > 0 ? 1 : 0; }

  void give(int rank, ScheduleStep& step) const {
    if (core_.is_extra(rank)) step.sends.push_back({rank - 1, whole()});
    if (core_.is_partner(rank)) step.receives.push_back({rank + 1, whole(), Combine::reduce});
  }

  /// Keeps the blocks of `half` indices of the core, a power of two, its own among them.
  void exchange(int core_index, int half, ScheduleStep& step) const {
    const int peer = core_index ^ half;
    const int to = core_.rank_of(peer);
    step.sends.push_back({to, core_run(core_, peer & ~(half - 1), half)});
    step.receives.push_back({to, core_run(core_, core_index & ~(half - 1), half), Combine::reduce});
  }

  void take_back(int rank, ScheduleStep& step) const {
    const Chunk own{Buffer::data, rank | 1, 1};
    if (core_.is_extra(rank)) step.receives.push_back({rank - 1, own});
    if (core_.is_partner(rank)) step.sends.push_back({rank + 1, own});
  }

  PowerOfTwoCore core_;
};

SchedulePtr make_recursive_halving(int n) {
  return std::make_shared<RecursiveHalving>(PowerOfTwoCore{n}, n);
}

}  // namespace

/// The path is that of rank 0, which in every round has most to receive and to add up.
CollectiveCost recursive_halving_cost(int n) {
  const PowerOfTwoCore core{n};
  const std::int64_t fold = core.extras() > 0 ? 1 : 0;
  std::int64_t reduced = fold * n;
  for (int round = 0; round < core.exponent(); ++round) reduced += core.rank_of(1 << round);
  return {.rounds = core.exponent() + 2 * fold,
          .path_blocks = reduced + fold,
          .reduced_blocks = reduced,
          .sent_blocks = n - 1 + fold};
}

}  // namespace lockstep::reduce_scatter

namespace lockstep {

CollectiveAlgorithm reduce_scatter_recursive_halving_row() {
  return {.collective = Collective::reduce_scatter,
          .name = "recursive_halving",
          .summary = "exchange half of the remaining blocks across the group, then halve the group",
          .limits = rows::kAnyRanks,
          .rounds = "lg n; lg N' + 2 where n is not a power of two",
          .sent_per_rank = "(n-1)/n*S; S by an extra rank",
          .time =
              "lg n*alpha + (n-1)/n*S*(beta + gamma); where n is not a power of two "
              "(lg N' + 2)*alpha + (p+1)/n*S*beta + p/n*S*gamma, "
              "p = n + N'-1 + sum over k < lg N' of min(2^k, n-N')",
          .example = "recursive_halving",
          .source = rows::kThakur,
          .file = "recursive_halving.cpp",
          .make = rows::of_n<reduce_scatter::make_recursive_halving>,
          .cost = rows::of_n<reduce_scatter::recursive_halving_cost>};
}

}  // namespace lockstep
