#include "strategies/collectives/all_reduce/algorithms.hpp"
#include "strategies/collectives/schedules/rotating_schedule.hpp"

/// One-shot all-reduce: everyone sends everything to everyone, and adds up what comes in.
/// In: n >= 1 ranks, S bytes on each. Chunks: 1, the whole buffer.
/// Rounds 1; sent per rank (n-1)S, in the order rank+1, rank+2, ... mod n.
/// Ideal time alpha + (n-1)*S*beta + (n-1)*S*gamma
///   (alpha s per message, beta s per byte sent, gamma s per byte reduced).
/// Arrivals are added to the data while copies of what it held at the start are still under way, so
/// an implementation keeps its input apart; the order of addition differs from rank to rank.
/// Errors: none after validate(). Source: MSCCL all-pairs one-pass; vLLM and TensorRT-LLM one-shot
///   custom all-reduce.
namespace lockstep {
namespace {

class OneShot final : public RotatingSchedule {
 public:
  explicit OneShot(int n) : RotatingSchedule(n, 1, 1) {}

  [[nodiscard]] std::int64_t steps(int, int) const override { return n() > 1 ? 1 : 0; }

  void step(int rank, int, std::int64_t, Step& step) const override {
    for (int distance = 1; distance < n(); ++distance) {
      step.sends.push_back({ahead(rank, distance), whole()});
      step.receives.push_back({behind(rank, distance), whole(), Combine::reduce});
    }
  }
};

}  // namespace

SchedulePtr make_one_shot(int n) {
  return std::make_shared<OneShot>(n);
}

CollectiveCost one_shot_cost(int n) {
  const std::int64_t others = n - 1;
  return {.rounds = n > 1 ? 1 : 0,
          .path_blocks = others,
          .reduced_blocks = others,
          .sent_blocks = others};
}

}  // namespace lockstep
