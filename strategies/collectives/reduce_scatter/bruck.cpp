#include <algorithm>

#include "strategies/collectives/row_helpers.hpp"
#include "strategies/collectives/schedules/ceil_lg.hpp"
#include "strategies/collectives/schedules/cyclic_run.hpp"
#include "strategies/collectives/schedules/rotating_schedule.hpp"

/// Bruck's reduce-scatter: his all-gather backwards. In every round a rank gives the further half
/// of the run of blocks rank, rank+1, ... that it still sums up to the rank as far ahead.
/// In: n >= 1 ranks, S bytes on each. Chunks: n blocks of ceil(count/n) elements; a run that passes
///   block n-1 is two pieces of one message, so that nothing need be turned round in memory.
/// Reference: the all-gather in Bruck, Ho, Kipnis, Upfal and Weathersby 1997; sums in Traeff 2024.
namespace lockstep::reduce_scatter {
namespace {

class Bruck final : public RotatingSchedule {
 public:
  explicit Bruck(int n) : RotatingSchedule(n), rounds_{ceil_lg(n)} {}

  [[nodiscard]] std::int64_t steps(int, int) const override { return rounds_; }

  void step(int rank, int, std::int64_t index, ScheduleStep& step) const override {
    const int kept = 1 << (rounds_ - 1 - index);
    const int count = std::min(kept, n() - kept);
    const int to = ahead(rank, kept);
    step.send(to, CyclicRun{Buffer::data, to, count, n()}.pieces());
    step.receive(behind(rank, kept), CyclicRun{Buffer::data, rank, count, n()}.pieces(),
                 Combine::reduce);
  }

 private:
  int rounds_;
};

SchedulePtr make_bruck(int n) {
  return std::make_shared<Bruck>(n);
}

CollectiveCost bruck_cost(int n) {
  const std::int64_t others = n - 1;
  return {
      .rounds = ceil_lg(n), .path_blocks = others, .reduced_blocks = others, .sent_blocks = others};
}

}  // namespace

}  // namespace lockstep::reduce_scatter

namespace lockstep {

CollectiveAlgorithm reduce_scatter_bruck_row() {
  return {.collective = Collective::reduce_scatter,
          .name = "bruck",
          .summary = "send half of the remaining blocks to the rank as far ahead",
          .limits = rows::kAnyRanks,
          .rounds = "ceil(lg n)",
          .sent_per_rank = "(n-1)/n*S",
          .time = "ceil(lg n)*alpha + (n-1)/n*S*beta + (n-1)/n*S*gamma",
          .example = "bruck",
          .source =
              "Bruck, Ho, Kipnis, Upfal and Weathersby 1997, section 4; Traeff 2024, "
              "arXiv 2410.14234",
          .file = "bruck.cpp",
          .make = rows::of_n<reduce_scatter::make_bruck>,
          .cost = rows::of_n<reduce_scatter::bruck_cost>};
}

}  // namespace lockstep
