#include "strategies/collectives/all_reduce/algorithms.hpp"
#include "strategies/collectives/schedules/extra_rank.hpp"

/// Recursive-doubling all-reduce: in round k every rank exchanges everything it has with the rank
/// whose number differs in bit k, and adds it up. Few rounds, many bytes: for short messages.
/// In: n >= 1 ranks, S bytes on each; where n is not a power of two, folded to N' = 2^floor(lg n)
///   by the extra-rank method. Chunks: 1, the whole buffer.
/// Rounds lg n, or lg N' + 2; sent per rank S*lg n, by the partner of an extra rank S*(lg N' + 1).
/// Ideal time lg n*(alpha + S*beta + S*gamma), or
///   (lg N' + 2)*(alpha + S*beta) + (lg N' + 1)*S*gamma
///   (alpha s per message, beta s per byte sent, gamma s per byte reduced).
/// Errors: none after validate(). Source: Thakur, Rabenseifner and Gropp 2005, section 4.
namespace lockstep {
namespace {

class RecursiveDoubling final : public ExtraRankSchedule {
 public:
  explicit RecursiveDoubling(int n) : ExtraRankSchedule(PowerOfTwoCore{n}, n, 1) {}

 protected:
  [[nodiscard]] std::int64_t core_steps() const override { return core().exponent(); }

  void core_step(int core_index, std::int64_t index, Step& step) const override {
    const int peer = core().rank_of(core_index ^ (1 << index));
    step.sends.push_back({peer, whole()});
    step.receives.push_back({peer, whole(), Combine::reduce});
  }
};

}  // namespace

SchedulePtr make_recursive_doubling(int n) {
  return std::make_shared<RecursiveDoubling>(n);
}

CollectiveCost recursive_doubling_cost(int n) {
  const PowerOfTwoCore core{n};
  const std::int64_t exchanges = core.exponent();
  const std::int64_t fold = core.extras() > 0 ? 1 : 0;
  return {.rounds = exchanges + 2 * fold,
          .path_blocks = exchanges + 2 * fold,
          .reduced_blocks = exchanges + fold,
          .sent_blocks = exchanges + fold};
}

}  // namespace lockstep
