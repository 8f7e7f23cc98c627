#include "strategies/collectives/all_gather/algorithms.hpp"
#include "strategies/collectives/row_helpers.hpp"
#include "strategies/collectives/schedules/rotating_schedule.hpp"

/// Direct all-gather: every rank sends its block to all others, all at once. Also called all-pairs.
/// In: n >= 1 ranks, S/n bytes on each. Chunks: n blocks of ceil(count/n) elements.
/// Messages leave in the order rank+1, rank+2, ... mod n.
namespace lockstep::all_gather {
namespace {

class Direct final : public RotatingSchedule {
 public:
  explicit Direct(int n) : RotatingSchedule(n) {}

  [[nodiscard]] std::int64_t steps(int, int) const override { return n() > 1 ? 1 : 0; }

  void step(int rank, int, std::int64_t, ScheduleStep& step) const override {
    for (int distance = 1; distance < n(); ++distance) {
      const int from = behind(rank, distance);
      step.sends.push_back({ahead(rank, distance), {Buffer::data, rank, 1}});
      step.receives.push_back({from, {Buffer::data, from, 1}});
    }
  }
};

}  // namespace

SchedulePtr make_direct(int n) {
  return std::make_shared<Direct>(n);
}

CollectiveCost direct_cost(int n) {
  const std::int64_t others = n - 1;
  return {
      .rounds = n > 1 ? 1 : 0, .path_blocks = others, .reduced_blocks = 0, .sent_blocks = others};
}

}  // namespace lockstep::all_gather

namespace lockstep {

CollectiveAlgorithm all_gather_direct_row() {
  return {.collective = Collective::all_gather,
          .name = "direct",
          .summary = "every rank sends its block to all others, all at once",
          .limits = rows::kAnyRanks,
          .rounds = "1",
          .sent_per_rank = "(n-1)/n*S",
          .time = "alpha + (n-1)/n*S*beta",
          .example = "direct",
          .source = "MSCCL all-pairs; Open MPI's linear all-gather",
          .file = "direct.cpp",
          .make = rows::of_n<all_gather::make_direct>,
          .cost = rows::of_n<all_gather::direct_cost>};
}

}  // namespace lockstep
