#include "strategies/collectives/barrier/algorithms.hpp"
#include "strategies/collectives/schedules/ceil_lg.hpp"
#include "strategies/collectives/schedules/rotating_schedule.hpp"

/// Dissemination barrier: in round k every rank tells the rank 2^k ahead, and hears from the one as
/// far behind, of all whom it has heard of.
/// In: n >= 1 ranks. Chunks: none; messages are empty.
/// Rounds ceil(lg n); messages sent per rank ceil(lg n).
/// Ideal time ceil(lg n)*alpha (alpha s per message).
/// Errors: none after validate(). Source: Hensgen, Finkel and Manber 1988 (Two algorithms for
///   barrier synchronization).
namespace lockstep::barrier {
namespace {

class Dissemination final : public RotatingSchedule {
 public:
  explicit Dissemination(int n) : RotatingSchedule(n, 1, 1) {}

  [[nodiscard]] std::int64_t steps(int, int) const override { return ceil_lg(n()); }

  void step(int rank, int, std::int64_t index, Step& step) const override {
    step.sends.push_back({ahead(rank, 1 << index), kNoBlocks});
    step.receives.push_back({behind(rank, 1 << index), kNoBlocks});
  }
};

}  // namespace

SchedulePtr make_dissemination(int n) {
  return std::make_shared<Dissemination>(n);
}

CollectiveCost dissemination_cost(int n) {
  return {.rounds = ceil_lg(n)};
}

}  // namespace lockstep::barrier
