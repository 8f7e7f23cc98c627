#include "strategies/collectives/barrier/algorithms.hpp"
#include "strategies/collectives/schedules/block_schedule.hpp"

/// Flat barrier: rank 0 counts everybody in, one after the other, then lets everybody go, one after
/// the other. What a central counter comes to.
/// In: n >= 1 ranks. Chunks: none; messages are empty.
/// Rounds 2(n-1), all of them rank 0's; messages sent by rank 0 n-1, by every other rank 1.
/// Ideal time 2(n-1)*alpha (alpha s per message).
/// Errors: none after validate(). Source: Mellor-Crummey and Scott 1991 (Algorithms for scalable
///   synchronization on shared-memory multiprocessors), section 3.1.
namespace lockstep::barrier {
namespace {

class Flat final : public BlockSchedule {
 public:
  explicit Flat(int n) : BlockSchedule(n, 1) {}

  [[nodiscard]] std::int64_t steps(int rank, int) const override {
    return rank == 0 ? 2 * (std::int64_t{n()} - 1) : 2;
  }

  void step(int rank, int, std::int64_t index, Step& step) const override {
    const bool counting = index < (rank == 0 ? n() - 1 : 1);
    const int peer = rank == 0 ? static_cast<int>(index % (n() - 1)) + 1 : 0;
    if (counting == (rank == 0)) {
      step.receives.push_back({peer, kNoBlocks});
    } else {
      step.sends.push_back({peer, kNoBlocks});
    }
  }
};

}  // namespace

SchedulePtr make_flat(int n) {
  return std::make_shared<Flat>(n);
}

CollectiveCost flat_cost(int n) {
  return {.rounds = 2 * (std::int64_t{n} - 1)};
}

}  // namespace lockstep::barrier
