#include "strategies/collectives/row_helpers.hpp"
#include "strategies/collectives/schedules/rooted.hpp"

/// Flat scatter: the root sends every rank its block, one after the other.
/// In: n >= 1 ranks, S bytes on the root. Chunks: n blocks of ceil(count/n) elements.
/// The order is root+1, root+2, ...
namespace lockstep::scatter {
namespace {

class Flat final : public RootedSchedule {
 public:
  Flat(int n, int root) : RootedSchedule(n, root, n) {}

  [[nodiscard]] std::int64_t steps(int rank, int) const override {
    return position_of(rank) == 0 ? n() - 1 : 1;
  }

  void step(int rank, int, std::int64_t index, ScheduleStep& step) const override {
    if (position_of(rank) == 0) {
      const int to = rank_at(static_cast<int>(index) + 1);
      step.sends.push_back({to, {Buffer::data, to, 1}});
    } else {
      step.receives.push_back({rank_at(0), {Buffer::data, rank, 1}});
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

}  // namespace lockstep::scatter

namespace lockstep {

CollectiveAlgorithm scatter_flat_row() {
  return {.collective = Collective::scatter,
          .name = "flat",
          .summary = "the root sends every rank its block, one after the other",
          .limits = rows::kAnyRanks,
          .rounds = "n-1",
          .sent_per_rank = "(n-1)/n*S by the root",
          .time = "(n-1)*alpha + (n-1)/n*S*beta",
          .example = "flat",
          .source = "Chan, Heimlich, Purkayastha and van de Geijn 2007, section 2",
          .file = "flat.cpp",
          .make = rows::of_root<scatter::make_flat>,
          .cost = rows::of_n<scatter::flat_cost>};
}

}  // namespace lockstep
