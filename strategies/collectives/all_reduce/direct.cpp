#include "strategies/collectives/all_reduce/algorithms.hpp"
#include "strategies/collectives/row_helpers.hpp"
#include "strategies/collectives/schedules/rotating_schedule.hpp"

/// Direct all-reduce: a reduce-scatter, then an all-gather, each in one round of all-to-all
/// messages. Also called all-pairs or two-shot.
/// In: n >= 1 ranks, S bytes on each. Chunks: n blocks of ceil(count/n) elements; rank r owns r.
/// Messages leave in the order rank+1, rank+2, ... mod n.
namespace lockstep {
namespace {

class Direct final : public RotatingSchedule {
 public:
  explicit Direct(int n) : RotatingSchedule(n) {}

  [[nodiscard]] std::int64_t steps(int, int) const override { return n() > 1 ? 2 : 0; }

  void step(int rank, int, std::int64_t index, ScheduleStep& step) const override {
    const bool scatter = index == 0;
    for (int distance = 1; distance < n(); ++distance) {
      const int to = ahead(rank, distance);
      const int from = behind(rank, distance);
      step.sends.push_back({to, block(scatter ? to : rank)});
      step.receives.push_back(
          {from, block(scatter ? rank : from), scatter ? Combine::reduce : Combine::copy});
    }
  }

 private:
  [[nodiscard]] static Chunk block(int owner) { return {Buffer::data, owner, 1}; }
};

CollectiveCost direct_cost(int n) {
  const std::int64_t others = n - 1;
  return {.rounds = n > 1 ? 2 : 0,
          .path_blocks = 2 * others,
          .reduced_blocks = others,
          .sent_blocks = 2 * others};
}

}  // namespace

SchedulePtr make_direct(int n) {
  return std::make_shared<Direct>(n);
}

CollectiveAlgorithm all_reduce_direct_row() {
  return {.collective = Collective::all_reduce,
          .name = "direct",
          .summary = "reduce-scatter, then all-gather, each all-to-all in one round",
          .limits = rows::kAnyRanks,
          .rounds = "2",
          .sent_per_rank = "2(n-1)/n*S",
          .time = "2*alpha + 2(n-1)/n*S*beta + (n-1)/n*S*gamma",
          .example = "direct",
          .source = "MSCCL all-pairs; TensorRT-LLM and vLLM two-shot",
          .file = "direct.cpp",
          .make = rows::of_n<make_direct>,
          .cost = rows::of_n<direct_cost>};
}

}  // namespace lockstep
