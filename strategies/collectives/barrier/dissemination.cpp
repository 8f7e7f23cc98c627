#include "strategies/collectives/barrier/algorithms.hpp"
#include "strategies/collectives/row_helpers.hpp"
#include "strategies/collectives/schedules/ceil_lg.hpp"
#include "strategies/collectives/schedules/rotating_schedule.hpp"

/// Dissemination barrier: in round k every rank sends to the rank 2^k ahead and receives from the
/// rank 2^k behind.
/// In: n >= 1 ranks. Chunks: none; messages are empty.
/// Every rank sends ceil(lg n) messages.
/// Reference: Hensgen, Finkel and Manber 1988 (Two algorithms for barrier synchronization).
namespace lockstep::barrier {
namespace {

class Dissemination final : public RotatingSchedule {
 public:
  explicit Dissemination(int n) : RotatingSchedule(n, 1, 1) {}

  [[nodiscard]] std::int64_t steps(int, int) const override { return ceil_lg(n()); }

  void step(int rank, int, std::int64_t index, ScheduleStep& step) const override {
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

namespace lockstep {

CollectiveAlgorithm barrier_dissemination_row() {
  return {.collective = Collective::barrier,
          .name = "dissemination",
          .summary = "notify the ranks at distance 1, 2, 4, ... ahead",
          .limits = rows::kAnyRanks,
          .rounds = "ceil(lg n)",
          .sent_per_rank = "0 (messages are empty)",
          .time = "ceil(lg n)*alpha",
          .example = "dissemination",
          .source = "Hensgen, Finkel and Manber 1988",
          .file = "dissemination.cpp",
          .make = rows::of_n<barrier::make_dissemination>,
          .cost = rows::of_n<barrier::dissemination_cost>};
}

}  // namespace lockstep
