#include "strategies/collectives/all_reduce/algorithms.hpp"
#include "strategies/collectives/all_reduce/row_parts.hpp"
#include "strategies/collectives/all_reduce/swing_peers.hpp"
#include "strategies/collectives/row_helpers.hpp"
#include "strategies/collectives/schedules/extra_rank.hpp"

/// Swing all-reduce, bandwidth-optimal: a reduce-scatter by halving and an all-gather that retraces
/// its way, as in halving_doubling, with peers that swing to and fro: 1, -1, 3, -5, 11, ... away.
/// On rings and tori blocks travel less far than with peers 1, 2, 4, ... away.
/// In: n >= 1 ranks, S bytes on each; where n is not a power of two, folded to N' = 2^floor(lg n)
///   by the extra-rank method. Chunks: N' blocks of ceil(count/N') elements.
namespace lockstep {
namespace {

/// The ranks that rank r can reach by its exchanges from step s on are r's class of step s; it has
/// to bring them together what blocks they own. All distances are odd, and from step s on they are
/// alike modulo 2^(s+1): a class is one even rank plus the multiples of 2^(s+1), and as many odd
/// ones. So the classes are nested, and blocks can be dealt by position such that each is one run.
class Swing final : public ExtraRankSchedule {
 public:
  Swing(PowerOfTwoCore core, int n) : ExtraRankSchedule(core, n, core.size()) {}

 protected:
  [[nodiscard]] std::int64_t core_steps() const override {
    return std::int64_t{2} * core().exponent();
  }

  void core_step(int core_index, std::int64_t index, ScheduleStep& step) const override {
    const int lg = core().exponent();
    const auto round = static_cast<int>(index);
    const bool scatter = round < lg;
    const int swing = scatter ? round : 2 * lg - 1 - round;
    const int peer = swing_peer(core_index, swing, core().size());
    const Chunk mine = run_of(core_index, swing);
    const Chunk theirs = run_of(peer, swing);
    const int rank = core().rank_of(peer);
    step.sends.push_back({rank, scatter ? theirs : mine});
    step.receives.push_back(
        {rank, scatter ? mine : theirs, scatter ? Combine::reduce : Combine::copy});
  }

 private:
  /// The blocks of the index's class after that step.
  [[nodiscard]] Chunk run_of(int index, int swing) const {
    const int length = core().size() >> (swing + 1);
    return {Buffer::data, position_of(index) & ~(length - 1), length};
  }

  /// The even rank of the last exchange, its bits from the second on reversed; then its odd peer.
  [[nodiscard]] int position_of(int index) const {
    const int lg = core().exponent();
    int even = index % 2 == 0 ? index : swing_peer(index, lg - 1, core().size());
    int position = 0;
    for (int bit = 1; bit < lg; ++bit) {
      even /= 2;
      position = 2 * position + even % 2;
    }
    return 2 * position + index % 2;
  }
};

SchedulePtr make_swing(int n) {
  return std::make_shared<Swing>(PowerOfTwoCore{n}, n);
}

}  // namespace

CollectiveAlgorithm all_reduce_swing_row() {
  return {.collective = Collective::all_reduce,
          .name = "swing",
          .summary =
              "halving and doubling with peers 1, -1, 3, -5, 11, ... away: near on rings and tori",
          .limits = rows::kAnyRanks,
          .rounds = rows::kHalvingRounds,
          .sent_per_rank = rows::kHalvingSent,
          .time = rows::kHalvingTime,
          .example = "swing",
          .source = rows::kSwing,
          .file = "swing.cpp",
          .make = rows::of_n<make_swing>,
          .cost = rows::of_n<halving_doubling_cost>};
}

}  // namespace lockstep
