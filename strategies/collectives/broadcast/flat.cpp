#include "strategies/collectives/row_helpers.hpp"
#include "strategies/collectives/schedules/rooted.hpp"

/// Flat broadcast: the root sends the whole message to one rank after the other.
/// In: n >= 1 ranks, S bytes on the root. Chunks: the whole message, one block.
/// The order is root+1, root+2, ...
namespace lockstep::broadcast {
namespace {

class Flat final : public RootedSchedule {
 public:
  Flat(int n, int root) : RootedSchedule(n, root, 1) {}

  [[nodiscard]] std::int64_t steps(int rank, int) const override {
    return position_of(rank) == 0 ? n() - 1 : 1;
  }

  void step(int rank, int, std::int64_t index, ScheduleStep& step) const override {
    if (position_of(rank) == 0) {
      step.sends.push_back({rank_at(static_cast<int>(index) + 1), whole()});
    } else {
      step.receives.push_back({rank_at(0), whole()});
    }
  }
};

SchedulePtr make_flat(int n, int root) {
  return std::make_shared<Flat>(n, root);
}

CollectiveCost flat_cost(int n) {
  const std::int64_t leaves = n - 1;
  return {.rounds = leaves, .path_blocks = leaves, .reduced_blocks = 0, .sent_blocks = leaves};
}

}  // namespace

}  // namespace lockstep::broadcast

namespace lockstep {

CollectiveAlgorithm broadcast_flat_row() {
  return {.collective = Collective::broadcast,
          .name = "flat",
          .summary = "the root sends the whole message to one rank after the other",
          .limits = rows::kAnyRanks,
          .rounds = "n-1",
          .sent_per_rank = "(n-1)*S by the root",
          .time = "(n-1)*(alpha + S*beta)",
          .example = "flat",
          .source = "Chan, Heimlich, Purkayastha and van de Geijn 2007, section 2",
          .file = "flat.cpp",
          .make = rows::of_root<broadcast::make_flat>,
          .cost = rows::of_n<broadcast::flat_cost>};
}

}  // namespace lockstep
