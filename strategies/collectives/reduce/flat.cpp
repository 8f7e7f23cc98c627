#include "strategies/collectives/row_helpers.hpp"
#include "strategies/collectives/schedules/rooted.hpp"

/// Flat reduce: the root receives all messages one after the other and reduces them.
/// In: n >= 1 ranks, S bytes on each. Chunks: the whole message, one block.
/// The order is root+1, root+2, ...
namespace lockstep::reduce {
namespace {

class Flat final : public RootedSchedule {
 public:
  Flat(int n, int root) : RootedSchedule(n, root, 1) {}

  [[nodiscard]] std::int64_t steps(int rank, int) const override {
    return position_of(rank) == 0 ? n() - 1 : 1;
  }

  void step(int rank, int, std::int64_t index, ScheduleStep& step) const override {
    if (position_of(rank) == 0) {
      step.receives.push_back({rank_at(static_cast<int>(index) + 1), whole(), Combine::reduce});
    } else {
      step.sends.push_back({rank_at(0), whole()});
    }
  }
};

SchedulePtr make_flat(int n, int root) {
  return std::make_shared<Flat>(n, root);
}

CollectiveCost flat_cost(int n) {
  const std::int64_t leaves = n - 1;
  return {.rounds = leaves,
          .path_blocks = leaves,
          .reduced_blocks = leaves,
          .sent_blocks = n > 1 ? 1 : 0};
}

}  // namespace

}  // namespace lockstep::reduce

namespace lockstep {

CollectiveAlgorithm reduce_flat_row() {
  return {.collective = Collective::reduce,
          .name = "flat",
          .summary = "the root receives all messages one after the other and reduces them",
          .limits = rows::kAnyRanks,
          .rounds = "n-1",
          .sent_per_rank = "S by all but the root",
          .time = "(n-1)*(alpha + S*beta + S*gamma)",
          .example = "flat",
          .source = "Chan, Heimlich, Purkayastha and van de Geijn 2007, section 2",
          .file = "flat.cpp",
          .make = rows::of_root<reduce::make_flat>,
          .cost = rows::of_n<reduce::flat_cost>};
}

}  // namespace lockstep
