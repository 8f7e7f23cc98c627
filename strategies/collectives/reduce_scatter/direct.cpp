#include "strategies/collectives/row_helpers.hpp"
#include "strategies/collectives/schedules/rotating_schedule.hpp"

/// Direct reduce-scatter: every rank sends every other rank its block, all at once.
/// In: n >= 1 ranks, S bytes on each. Chunks: n blocks of ceil(count/n) elements.
/// Messages leave in the order rank+1, rank+2, ... mod n.
/// Reference: also the first half of TensorRT-LLM's and vLLM's two-shot all-reduce.
namespace lockstep::reduce_scatter {
namespace {

class Direct final : public RotatingSchedule {
 public:
  explicit Direct(int n) : RotatingSchedule(n) {}

  [[nodiscard]] std::int64_t steps(int, int) const override { return n() > 1 ? 1 : 0; }

  void step(int rank, int, std::int64_t, ScheduleStep& step) const override {
    for (int distance = 1; distance < n(); ++distance) {
      const int to = ahead(rank, distance);
      step.sends.push_back({to, {Buffer::data, to, 1}});
      step.receives.push_back({behind(rank, distance), {Buffer::data, rank, 1}, Combine::reduce});
    }
  }
};

SchedulePtr make_direct(int n) {
  return std::make_shared<Direct>(n);
}

CollectiveCost direct_cost(int n) {
  const std::int64_t others = n - 1;
  return {.rounds = n > 1 ? 1 : 0,
          .path_blocks = others,
          .reduced_blocks = others,
          .sent_blocks = others};
}

}  // namespace

}  // namespace lockstep::reduce_scatter

namespace lockstep {

CollectiveAlgorithm reduce_scatter_direct_row() {
  return {.collective = Collective::reduce_scatter,
          .name = "direct",
          .summary = "every rank sends every other rank its block, all at once",
          .limits = rows::kAnyRanks,
          .rounds = "1",
          .sent_per_rank = "(n-1)/n*S",
          .time = "alpha + (n-1)/n*S*beta + (n-1)/n*S*gamma",
          .example = "direct",
          .source = "MSCCL all-pairs",
          .file = "direct.cpp",
          .make = rows::of_n<reduce_scatter::make_direct>,
          .cost = rows::of_n<reduce_scatter::direct_cost>};
}

}  // namespace lockstep
