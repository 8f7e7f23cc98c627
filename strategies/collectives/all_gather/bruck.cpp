#include <algorithm>

#include "strategies/collectives/all_gather/algorithms.hpp"
#include "strategies/collectives/row_helpers.hpp"
#include "strategies/collectives/schedules/ceil_lg.hpp"
#include "strategies/collectives/schedules/cyclic_run.hpp"
#include "strategies/collectives/schedules/rotating_schedule.hpp"

/// Bruck's all-gather: in round k every rank sends all it has to the rank 2^k behind and receives
/// as much from the rank 2^k ahead. Blocks gather in scratch in the order rank, rank+1, ... and are
/// turned into their places at the end.
/// In: n >= 1 ranks, S/n bytes on each. Chunks: n blocks of ceil(count/n) elements.
/// The ideal time does not count the n-1 blocks that are copied at the end.
/// Reference: also Thakur, Rabenseifner and Gropp 2005, section 4.
namespace lockstep::all_gather {
namespace {

class Bruck final : public RotatingSchedule {
 public:
  explicit Bruck(int n) : RotatingSchedule(n), rounds_{ceil_lg(n)} {}

  [[nodiscard]] std::int64_t scratch_blocks(int) const override { return n() > 1 ? n() : 0; }
  [[nodiscard]] std::int64_t steps(int, int) const override { return rounds_; }

  /// A rank's own block goes out from its place in the first round, from scratch later.
  void step(int rank, int, std::int64_t index, ScheduleStep& step) const override {
    const int have = 1 << index;
    const int count = std::min(have, n() - have);
    const Chunk own{Buffer::data, rank, 1};
    step.sends.push_back({behind(rank, have), index == 0 ? own : Chunk{Buffer::scratch, 0, count}});
    step.receives.push_back({ahead(rank, have), {Buffer::scratch, have, count}});
    if (index == 0 && rounds_ > 1) step.locals.push_back({own, {Buffer::scratch, 0, 1}});
    if (index == rounds_ - 1) turn_back(rank, step);
  }

 private:
  void turn_back(int rank, ScheduleStep& step) const {
    std::int64_t first = 1;
    const CyclicRun others{Buffer::data, ahead(rank, 1), n() - 1, n()};
    for (const Chunk& place : others.pieces()) {
      step.locals.push_back({{Buffer::scratch, first, place.count}, place});
      first += place.count;
    }
  }

  int rounds_;
};

CollectiveCost bruck_cost(int n) {
  const std::int64_t others = n - 1;
  return {.rounds = ceil_lg(n), .path_blocks = others, .reduced_blocks = 0, .sent_blocks = others};
}

}  // namespace

SchedulePtr make_bruck(int n) {
  return std::make_shared<Bruck>(n);
}

}  // namespace lockstep::all_gather

namespace lockstep {

CollectiveAlgorithm all_gather_bruck_row() {
  return {.collective = Collective::all_gather,
          .name = "bruck",
          .summary = "send all blocks held 1, 2, 4, ... ranks back; rotate the blocks at the end",
          .limits = rows::kAnyRanks,
          .rounds = "ceil(lg n)",
          .sent_per_rank = "(n-1)/n*S",
          .time = "ceil(lg n)*alpha + (n-1)/n*S*beta",
          .example = "bruck",
          .source = "Bruck, Ho, Kipnis, Upfal and Weathersby 1997, section 4",
          .file = "bruck.cpp",
          .make = rows::of_n<all_gather::make_bruck>,
          .cost = rows::of_n<all_gather::bruck_cost>};
}

}  // namespace lockstep
