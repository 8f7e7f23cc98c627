#include "strategies/collectives/row_helpers.hpp"
#include "strategies/collectives/schedules/rotating_schedule.hpp"

/// One-shot all-reduce: everyone sends everything to everyone, and adds up what comes in.
/// In: n >= 1 ranks, S bytes on each. Chunks: 1, the whole buffer.
/// Arrivals are added to the data while copies of what it held at the start are still in flight, so
/// an implementation keeps its input apart; the order of addition differs from rank to rank.
/// Messages leave in the order rank+1, rank+2, ... mod n.
namespace lockstep {
namespace {

class OneShot final : public RotatingSchedule {
 public:
  explicit OneShot(int n) : RotatingSchedule(n, 1, 1) {}

  [[nodiscard]] std::int64_t steps(int, int) const override { return n() > 1 ? 1 : 0; }

  void step(int rank, int, std::int64_t, ScheduleStep& step) const override {
    for (int distance = 1; distance < n(); ++distance) {
      step.sends.push_back({ahead(rank, distance), whole()});
      step.receives.push_back({behind(rank, distance), whole(), Combine::reduce});
    }
  }
};

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

}  // namespace

CollectiveAlgorithm all_reduce_one_shot_row() {
  return {.collective = Collective::all_reduce,
          .name = "one_shot",
          .summary = "every rank sends its whole message to all others, in one round",
          .limits = rows::kAnyRanks,
          .rounds = "1",
          .sent_per_rank = "(n-1)*S",
          .time = "alpha + (n-1)*S*beta + (n-1)*S*gamma",
          .example = "one_shot",
          .source = "MSCCL all-pairs one-pass; vLLM and TensorRT-LLM one-shot",
          .file = "one_shot.cpp",
          .make = rows::of_n<make_one_shot>,
          .cost = rows::of_n<one_shot_cost>};
}

}  // namespace lockstep
