#include "strategies/collectives/gather/algorithms.hpp"
#include "strategies/collectives/row_helpers.hpp"
#include "strategies/collectives/schedules/rooted.hpp"

/// Direct gather: every rank sends the root its block, all at once.
/// In: n >= 1 ranks, S/n bytes on each. Chunks: n blocks of ceil(count/n) elements.
/// All blocks cross the root's port.
/// Reference: NCCL, documentation of point-to-point communication (all-to-one as grouped sends and
///   receives).
namespace lockstep::gather {
namespace {

class Direct final : public RootedSchedule {
 public:
  Direct(int n, int root) : RootedSchedule(n, root, n) {}

  [[nodiscard]] std::int64_t steps(int, int) const override { return n() > 1 ? 1 : 0; }

  void step(int rank, int, std::int64_t, ScheduleStep& step) const override {
    if (position_of(rank) != 0) {
      step.sends.push_back({rank_at(0), {Buffer::data, rank, 1}});
      return;
    }
    for (int position = 1; position < n(); ++position) {
      const int from = rank_at(position);
      step.receives.push_back({from, {Buffer::data, from, 1}});
    }
  }
};

}  // namespace

SchedulePtr make_direct(int n, int root) {
  return std::make_shared<Direct>(n, root);
}

CollectiveCost direct_cost(int n) {
  const std::int64_t any = n > 1 ? 1 : 0;
  return {.rounds = any, .path_blocks = n - 1, .reduced_blocks = 0, .sent_blocks = any};
}

}  // namespace lockstep::gather

namespace lockstep {

CollectiveAlgorithm gather_direct_row() {
  return {.collective = Collective::gather,
          .name = "direct",
          .summary = "every rank sends the root its block, all at once",
          .limits = rows::kAnyRanks,
          .rounds = "1",
          .sent_per_rank = "S/n by all but the root",
          .time = "alpha + (n-1)/n*S*beta",
          .example = "direct",
          .source = "NCCL, grouped sends and receives",
          .file = "direct.cpp",
          .make = rows::of_root<gather::make_direct>,
          .cost = rows::of_n<gather::direct_cost>};
}

}  // namespace lockstep
