#include "strategies/collectives/all_reduce/algorithms.hpp"
#include "strategies/collectives/all_reduce/swing_peers.hpp"
#include "strategies/collectives/schedules/extra_rank.hpp"

/// Swing all-reduce, latency-optimal: every rank exchanges everything it has with peers that swing
/// to and fro, 1, -1, 3, -5, 11, ... away, and adds it up. Rounds and bytes of recursive_doubling,
/// over shorter ways on rings and tori.
/// In: n >= 1 ranks, S bytes on each; where n is not a power of two, folded to N' = 2^floor(lg n)
///   by the extra-rank method. Chunks: 1, the whole buffer.
/// Rounds lg n, or lg N' + 2; sent per rank S*lg n, by the partner of an extra rank S*(lg N' + 1).
/// Ideal time lg n*(alpha + S*beta + S*gamma), or
///   (lg N' + 2)*(alpha + S*beta) + (lg N' + 1)*S*gamma
///   (alpha s per message, beta s per byte sent, gamma s per byte reduced).
/// Errors: none after validate(). Source: De Sensi et al. 2024 (Swing, arXiv
///   2401.09356), section 3.
namespace lockstep {
namespace {

class SwingLatency final : public ExtraRankSchedule {
 public:
  explicit SwingLatency(int n) : ExtraRankSchedule(PowerOfTwoCore{n}, n, 1) {}

 protected:
  [[nodiscard]] std::int64_t core_steps() const override { return core().exponent(); }

  void core_step(int core_index, std::int64_t index, Step& step) const override {
    const int peer = core().rank_of(swing_peer(core_index, static_cast<int>(index), core().size()));
    step.sends.push_back({peer, whole()});
    step.receives.push_back({peer, whole(), Combine::reduce});
  }
};

}  // namespace

SchedulePtr make_swing_latency(int n) {
  return std::make_shared<SwingLatency>(n);
}

}  // namespace lockstep
