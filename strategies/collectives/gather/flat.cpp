#include "strategies/collectives/row_helpers.hpp"
#include "strategies/collectives/schedules/rooted.hpp"

/// Flat gather: the root receives the block of every rank, one after the other.
/// In: n >= 1 ranks, S/n bytes on each. Chunks: n blocks of ceil(count/n) elements.
/// The order is root+1, root+2, ...
namespace lockstep::gather {
namespace {

class Flat final : public RootedSchedule {
 public:
  Flat(int n, int root) : RootedSchedule(n, root, n) {}

  [[nodiscard]] std::int64_t steps(int rank, int) const override {
    return position_of(rank) == 0 ? n() - 1 : 1;
  }

  void step(int rank, int, std::int64_t index, ScheduleStep& step) const override {
    if (position_of(rank) == 0) {
      const int from = rank_at(static_cast<int>(index) + 1);
      step.receives.push_back({from, {Buffer::data, from, 1}});
    } else {
      step.sends.push_back({rank_at(0), {Buffer::data, rank, 1}});
    }
  }
};

SchedulePtr make_flat(int n, int root) {
  return std::make_shared<Flat>(n, root);
}

CollectiveCost flat_cost(int n) {
  const std::int64_t leaves = n - 1;
  return {
      .rounds = leaves, .path_blocks = leaves, .reduced_blocks = 0, .sent_blocks = n > 1 ? 1 : 0};
}

}  // namespace

}  // namespace lockstep::gather

namespace lockstep {

CollectiveAlgorithm gather_flat_row() {
  return {.collective = Collective::gather,
          .name = "flat",
          .summary = "the root receives the block of every rank, one after the other",
          .limits = rows::kAnyRanks,
          .rounds = "n-1",
          .sent_per_rank = "S/n by all but the root",
          .time = "(n-1)*alpha + (n-1)/n*S*beta",
          .example = "flat",
          .source = "Chan, Heimlich, Purkayastha and van de Geijn 2007, section 2",
          .file = "flat.cpp",
          .make = rows::of_root<gather::make_flat>,
          .cost = rows::of_n<gather::flat_cost>};
}

}  // namespace lockstep
