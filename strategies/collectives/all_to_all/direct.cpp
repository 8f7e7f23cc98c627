#include "strategies/collectives/all_to_all/algorithms.hpp"
#include "strategies/collectives/row_helpers.hpp"
#include "strategies/collectives/schedules/rotating_schedule.hpp"

/// Direct all-to-all: every rank sends all its blocks at once.
/// In: n >= 1 ranks, S bytes on each. Chunks: n blocks of ceil(count/n) elements; a rank's own is
///   copied.
/// Messages leave in the order rank+1, rank+2, ... mod n. The ideal time does not count the copy.
/// Reference: NCCL, documentation of point-to-point communication (all-to-all as grouped sends and
///   receives).
namespace lockstep::all_to_all {
namespace {

class Direct final : public RotatingSchedule {
 public:
  explicit Direct(int n) : RotatingSchedule(n) {}

  [[nodiscard]] Buffer result() const override { return Buffer::output; }
  [[nodiscard]] std::int64_t steps(int, int) const override { return 1; }

  void step(int rank, int, std::int64_t, ScheduleStep& step) const override {
    for (int distance = 1; distance < n(); ++distance) {
      const int to = ahead(rank, distance);
      const int from = behind(rank, distance);
      step.sends.push_back({to, {Buffer::data, to, 1}});
      step.receives.push_back({from, {Buffer::output, from, 1}});
    }
    step.locals.push_back({{Buffer::data, rank, 1}, {Buffer::output, rank, 1}});
  }
};

}  // namespace

SchedulePtr make_direct(int n) {
  return std::make_shared<Direct>(n);
}

std::optional<CollectiveCost> direct_cost(int n) {
  if (n == 1) return std::nullopt;
  const std::int64_t others = n - 1;
  return CollectiveCost{
      .rounds = 1, .path_blocks = others, .reduced_blocks = 0, .sent_blocks = others};
}

}  // namespace lockstep::all_to_all

namespace lockstep {

CollectiveAlgorithm all_to_all_direct_row() {
  return {.collective = Collective::all_to_all,
          .name = "direct",
          .summary = "every rank sends all its blocks at once",
          .limits = rows::kAnyRanks,
          .rounds = "1",
          .sent_per_rank = "(n-1)/n*S",
          .time = "alpha + (n-1)/n*S*beta",
          .example = "direct",
          .source = "NCCL, grouped sends and receives; Open MPI's linear all-to-all",
          .file = "direct.cpp",
          .make = rows::of_n<all_to_all::make_direct>,
          .cost = rows::of_n<all_to_all::direct_cost>};
}

}  // namespace lockstep
