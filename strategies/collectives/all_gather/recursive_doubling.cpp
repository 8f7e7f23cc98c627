#include <array>

#include "strategies/collectives/all_gather/algorithms.hpp"
#include "strategies/collectives/row_helpers.hpp"
#include "strategies/collectives/schedules/block_schedule.hpp"
#include "strategies/collectives/schedules/core_run.hpp"

/// Recursive-doubling all-gather: in round k every rank exchanges all it has with the rank whose
/// number differs in bit k.
/// In: n >= 1 ranks, S/n bytes on each. Chunks: n blocks of ceil(count/n) elements. Where n is not
///   a power of two, n-N' extra ranks first give their block to a partner and in the end get all
///   the others from it; between, N' = 2^floor(lg n) ranks exchange, partners for two.
namespace lockstep::all_gather {
namespace {

class RecursiveDoubling final : public BlockSchedule, public SymmetricSchedule {
 public:
  RecursiveDoubling(PowerOfTwoCore core, int n) : BlockSchedule(n), core_{core} {}

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
      exchange(core_.index_of(rank), 1 << round, step);
    }
  }

 private:
  [[nodiscard]] int fold() const { return core_.extras() > 0 ? 1 : 0; }

  void give(int rank, ScheduleStep& step) const {
    if (core_.is_extra(rank)) step.sends.push_back({rank - 1, {Buffer::data, rank, 1}});
    if (core_.is_partner(rank)) step.receives.push_back({rank + 1, {Buffer::data, rank + 1, 1}});
  }

  /// Of what `have` indices of the core hold, a power of two.
  void exchange(int core_index, int have, ScheduleStep& step) const {
    const int peer = core_index ^ have;
    const int to = core_.rank_of(peer);
    step.sends.push_back({to, core_run(core_, core_index & ~(have - 1), have)});
    step.receives.push_back({to, core_run(core_, peer & ~(have - 1), have)});
  }

  /// All but the extra rank's own block: what lies before it, never nothing, and after it.
  void take_back(int rank, ScheduleStep& step) const {
    if (!core_.is_extra(rank) && !core_.is_partner(rank)) return;
    const int extra = rank | 1;
    const std::array<Chunk, 2> others{Chunk{Buffer::data, 0, extra},
                                      Chunk{Buffer::data, extra + 1, n() - extra - 1}};
    if (rank == extra) {
      step.receive(rank - 1, others, Combine::copy);
    } else {
      step.send(extra, others);
    }
  }

  PowerOfTwoCore core_;
};

SchedulePtr make_recursive_doubling(int n) {
  return std::make_shared<RecursiveDoubling>(PowerOfTwoCore{n}, n);
}

}  // namespace

/// The path is that of rank 0, which in every round has most to send and to receive.
CollectiveCost recursive_doubling_cost(int n) {
  const PowerOfTwoCore core{n};
  const std::int64_t fold = core.extras() > 0 ? 1 : 0;
  std::int64_t sent = fold * (n - 1);
  for (int round = 0; round < core.exponent(); ++round) sent += core.rank_of(1 << round);
  return {.rounds = core.exponent() + 2 * fold,
          .path_blocks = sent + fold,
          .reduced_blocks = 0,
          .sent_blocks = sent};
}

}  // namespace lockstep::all_gather

namespace lockstep {

CollectiveAlgorithm all_gather_recursive_doubling_row() {
  return {
      .collective = Collective::all_gather,
      .name = "recursive_doubling",
      .summary = "exchange all blocks held with ranks at distance 1, 2, 4, ...",
      .limits = rows::kAnyRanks,
      .rounds = "lg n; lg N' + 2 where n is not a power of two",
      .sent_per_rank = "(n-1)/n*S; less than three times as much by the partner of an extra rank",
      .time =
          "lg n*alpha + (n-1)/n*S*beta; where n is not a power of two (lg N' + 2)*alpha + "
          "(n + N'-1 + sum over k < lg N' of min(2^k, n-N'))/n*S*beta",
      .example = "recursive_doubling",
      .source = rows::kThakur,
      .file = "recursive_doubling.cpp",
      .make = rows::of_n<all_gather::make_recursive_doubling>,
      .cost = rows::of_n<all_gather::recursive_doubling_cost>};
}

}  // namespace lockstep
