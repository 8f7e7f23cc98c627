#include "strategies/collectives/barrier/algorithms.hpp"
#include "strategies/collectives/row_helpers.hpp"
#include "strategies/collectives/schedules/block_schedule.hpp"

/// Flat barrier: rank 0 counts everybody in, one after the other, then lets everybody go, one after
/// the other. What a central counter comes to.
/// In: n >= 1 ranks. Chunks: none; messages are empty.
/// Rank 0 sends n-1 messages, every other rank one.
/// Reference: Mellor-Crummey and Scott 1991 (Algorithms for scalable synchronization on
///   shared-memory multiprocessors).
namespace lockstep::barrier {
namespace {

class Flat final : public BlockSchedule {
 public:
  explicit Flat(int n) : BlockSchedule(n, 1) {}

  [[nodiscard]] std::int64_t steps(int rank, int) const override {
    return rank == 0 ? 2 * (std::int64_t{n()} - 1) : 2;
  }

  void step(int rank, int, std::int64_t index, ScheduleStep& step) const override {
    const bool counting = index < (rank == 0 ? n() - 1 : 1);
    const int peer = rank == 0 ? static_cast<int>(index % (n() - 1)) + 1 : 0;
    if (counting == (rank == 0)) {
      step.receives.push_back({peer, kNoBlocks});
    } else {
      step.sends.push_back({peer, kNoBlocks});
    }
  }
};

SchedulePtr make_flat(int n) {
  return std::make_shared<Flat>(n);
}

}  // namespace

CollectiveCost flat_cost(int n) {
  return {.rounds = 2 * (std::int64_t{n} - 1)};
}

}  // namespace lockstep::barrier

namespace lockstep {

CollectiveAlgorithm barrier_flat_row() {
  return {.collective = Collective::barrier,
          .name = "flat",
          .summary = "rank 0 collects all arrivals one by one, then releases ranks one by one",
          .limits = rows::kAnyRanks,
          .rounds = "2(n-1)",
          .sent_per_rank = "0 (messages are empty)",
          .time = "2(n-1)*alpha",
          .example = "flat",
          .source = "Mellor-Crummey and Scott 1991, section 3.1",
          .file = "flat.cpp",
          .make = rows::of_n<barrier::make_flat>,
          .cost = rows::of_n<barrier::flat_cost>};
}

}  // namespace lockstep
