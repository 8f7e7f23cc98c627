#include "strategies/collectives/all_reduce/algorithms.hpp"
#include "strategies/collectives/all_reduce/row_parts.hpp"
#include "strategies/collectives/row_helpers.hpp"
#include "strategies/collectives/schedules/extra_rank.hpp"

/// Recursive-doubling all-reduce: in round k every rank exchanges everything it has with the rank
/// whose number differs in bit k, and adds it up. Few rounds, many bytes: for short messages.
/// In: n >= 1 ranks, S bytes on each; where n is not a power of two, folded to N' = 2^floor(lg n)
///   by the extra-rank method. Chunks: 1, the whole buffer.
namespace lockstep {
namespace {

class RecursiveDoubling final : public ExtraRankSchedule, public SymmetricSchedule {
 public:
  explicit RecursiveDoubling(int n) : ExtraRankSchedule(PowerOfTwoCore{n}, n, 1) {}

  [[nodiscard]] std::optional<BlockMoves> moves() const override {
    return core().exchanges_alike();
  }

 protected:
  [[nodiscard]] std::int64_t core_steps() const override { return core().exponent(); }

  void core_step(int core_index, std::int64_t index, ScheduleStep& step) const override {
    const int peer = core().rank_of(core_index ^ (1 << index));
    step.sends.push_back({peer, whole()});
    step.receives.push_back({peer, whole(), Combine::reduce});
  }
};

SchedulePtr make_recursive_doubling(int n) {
  return std::make_shared<RecursiveDoubling>(n);
}

}  // namespace

CollectiveCost recursive_doubling_cost(int n) {
  const PowerOfTwoCore core{n};
  const std::int64_t exchanges = core.exponent();
  const std::int64_t fold = core.extras() > 0 ? 1 : 0;
  return {.rounds = exchanges + 2 * fold,
          .path_blocks = exchanges + 2 * fold,
          .reduced_blocks = exchanges + fold,
          .sent_blocks = exchanges + fold};
}

CollectiveAlgorithm all_reduce_recursive_doubling_row() {
  return {.collective = Collective::all_reduce,
          .name = "recursive_doubling",
          .summary = "exchange whole messages at distance 1, 2, 4, ...: few rounds, many bytes",
          .limits = rows::kAnyRanks,
          .rounds = rows::kDoublingRounds,
          .sent_per_rank = rows::kDoublingSent,
          .time = rows::kDoublingTime,
          .example = "recursive_doubling",
          .source = rows::kThakur,
          .file = "recursive_doubling.cpp",
          .make = rows::of_n<make_recursive_doubling>,
          .cost = rows::of_n<recursive_doubling_cost>};
}

}  // namespace lockstep
