#include <algorithm>

#include "strategies/collectives/all_to_all/algorithms.hpp"
#include "strategies/collectives/row_helpers.hpp"
#include "strategies/collectives/schedules/ceil_lg.hpp"
#include "strategies/collectives/schedules/rotating_schedule.hpp"

/// Bruck's all-to-all: a block for the rank j ahead travels there by the binary digits of j. Blocks
/// lie in scratch by j, first turned there from their places, at the end turned back; in round k
/// all those whose j has digit k go 2^k ranks ahead.
/// In: n >= 1 ranks, S bytes on each. Chunks: n blocks of ceil(count/n) elements; runs of 2^k
///   blocks with digit k are pieces of one message.
/// A rank sends as many blocks as the numbers 1 .. n-1 have ones in binary. It copies n/2 blocks
///   first and n at the end, which the ideal time does not count.
/// Reference: also Thakur, Rabenseifner and Gropp 2005, section 4.
namespace lockstep::all_to_all {
namespace {

/// Calls visit(first, count) for every run of j < n that have digit k.
void for_each_run(int n, int digit, const auto& visit) {
  const int length = 1 << digit;
  for (int first = length; first < n; first += 2 * length) {
    visit(first, std::min(length, n - first));
    if (first >= n - length) break;
  }
}

class Bruck final : public RotatingSchedule {
 public:
  explicit Bruck(int n) : RotatingSchedule(n), rounds_{ceil_lg(n)} {}

  [[nodiscard]] Buffer result() const override { return Buffer::output; }
  [[nodiscard]] std::int64_t scratch_blocks(int) const override { return n(); }
  [[nodiscard]] std::int64_t steps(int, int) const override { return std::max(rounds_, 1); }

  void step(int rank, int, std::int64_t index, ScheduleStep& step) const override {
    const auto digit = static_cast<int>(index);
    if (n() > 1) pass_on(rank, digit, step);
    if (digit == 0) turn(rank, step);
    if (digit + 1 == steps(rank, 0)) turn_back(rank, step);
  }

 private:
  /// In the first round, before any block is turned, blocks leave from their places.
  void pass_on(int rank, int digit, ScheduleStep& step) const {
    std::vector<Chunk> sent;
    std::vector<Chunk> received;
    for_each_run(n(), digit, [&](int first, int count) {
      received.push_back({Buffer::scratch, first, count});
      sent.push_back(digit == 0 ? Chunk{Buffer::data, ahead(rank, first), 1} : received.back());
    });
    step.send(ahead(rank, 1 << digit), sent);
    step.receive(behind(rank, 1 << digit), received, Combine::copy);
  }

  /// Those that did not leave in the first round.
  void turn(int rank, ScheduleStep& step) const {
    for (int j = 0; j < n(); j += 2)
      step.locals.push_back({{Buffer::data, ahead(rank, j), 1}, {Buffer::scratch, j, 1}});
  }

  /// What came from the rank j behind.
  void turn_back(int rank, ScheduleStep& step) const {
    for (int j = 0; j < n(); ++j)
      step.locals.push_back({{Buffer::scratch, j, 1}, {Buffer::output, behind(rank, j), 1}});
  }

  int rounds_;
};

SchedulePtr make_bruck(int n) {
  return std::make_shared<Bruck>(n);
}

}  // namespace

std::optional<CollectiveCost> bruck_cost(int n) {
  if (n == 1) return std::nullopt;
  std::int64_t sent = 0;
  for (int digit = 0; digit < ceil_lg(n); ++digit)
    for_each_run(n, digit, [&](int, int count) { sent += count; });
  return CollectiveCost{
      .rounds = ceil_lg(n), .path_blocks = sent, .reduced_blocks = 0, .sent_blocks = sent};
}

}  // namespace lockstep::all_to_all

namespace lockstep {

CollectiveAlgorithm all_to_all_bruck_row() {
  return {.collective = Collective::all_to_all,
          .name = "bruck",
          .summary = "blocks travel by the binary digits of their distance: few rounds, more bytes",
          .limits = rows::kAnyRanks,
          .rounds = "ceil(lg n)",
          .sent_per_rank = "lg n/2*S; less where n is not a power of two",
          .time =
              "ceil(lg n)*alpha + lg n/2*S*beta; less where n is not a power "
              "of two",
          .example = "bruck",
          .source = "Bruck, Ho, Kipnis, Upfal and Weathersby 1997, section 3",
          .file = "bruck.cpp",
          .make = rows::of_n<all_to_all::make_bruck>,
          .cost = rows::of_n<all_to_all::bruck_cost>};
}

}  // namespace lockstep
