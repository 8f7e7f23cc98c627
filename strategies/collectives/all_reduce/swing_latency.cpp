#include "strategies/collectives/all_reduce/algorithms.hpp"
#include "strategies/collectives/all_reduce/row_parts.hpp"
#include "strategies/collectives/all_reduce/swing_peers.hpp"
#include "strategies/collectives/row_helpers.hpp"
#include "strategies/collectives/schedules/extra_rank.hpp"

/// Swing all-reduce, latency-optimal: every rank exchanges everything it has with peers that swing
/// to and fro, 1, -1, 3, -5, 11, ... away, and adds it up. Rounds and bytes of recursive_doubling,
/// over shorter ways on rings and tori.
/// In: n >= 1 ranks, S bytes on each; where n is not a power of two, folded to N' = 2^floor(lg n)
///   by the extra-rank method. Chunks: 1, the whole buffer.
namespace lockstep {
namespace {

class SwingLatency final : public ExtraRankSchedule {
 public:
  explicit SwingLatency(int n) : ExtraRankSchedule(PowerOfTwoCore{n}, n, 1) {}

 protected:
  [[nodiscard]] std::int64_t core_steps() const override { return core().exponent(); }

  void core_step(int core_index, std::int64_t index, ScheduleStep& step) const override {
    const int peer = core().rank_of(swing_peer(core_index, static_cast<int>(index), core().size()));
    step.sends.push_back({peer, whole()});
    step.receives.push_back({peer, whole(), Combine::reduce});
  }
};

SchedulePtr make_swing_latency(int n) {
  return std::make_shared<SwingLatency>(n);
}

}  // namespace

CollectiveAlgorithm all_reduce_swing_latency_row() {
  return {.collective = Collective::all_reduce,
          .name = "swing_latency",
          .summary = "exchange whole messages at distance 1, -1, 3, -5, 11, ...",
          .limits = rows::kAnyRanks,
          .rounds = rows::kDoublingRounds,
          .sent_per_rank = rows::kDoublingSent,
          .time = rows::kDoublingTime,
          .example = "swing_latency",
          .source = rows::kSwing,
          .file = "swing_latency.cpp",
          .make = rows::of_n<make_swing_latency>,
          .cost = rows::of_n<recursive_doubling_cost>};
}

}  // namespace lockstep
