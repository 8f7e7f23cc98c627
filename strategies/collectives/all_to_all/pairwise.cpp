#include <bit>

#include "sim/schedule/schedule_traits.hpp"
#include "strategies/collectives/all_to_all/algorithms.hpp"
#include "strategies/collectives/row_helpers.hpp"
#include "strategies/collectives/schedules/block_schedule.hpp"

/// Pairwise all-to-all: in round s = 1 .. n-1 every rank sends one block and receives one; where n
/// is a power of two, it exchanges with rank XOR s, else it sends s ranks ahead and receives from s
/// behind.
/// In: n >= 1 ranks, S bytes on each. Chunks: n blocks of ceil(count/n) elements; a rank's own is
///   copied.
/// The ideal time does not count the copy.
namespace lockstep::all_to_all {
namespace {

class Pairwise final : public BlockSchedule, public SymmetricSchedule {
 public:
  explicit Pairwise(int n)
      : BlockSchedule(n), exchanges_{std::has_single_bit(static_cast<unsigned>(n))} {}

  [[nodiscard]] Buffer result() const override { return Buffer::output; }
  [[nodiscard]] std::int64_t steps(int, int) const override { return n() > 1 ? n() - 1 : 1; }
  [[nodiscard]] std::optional<BlockMoves> moves() const override {
    return BlockMoves{exchanges_ ? BlockMoves::Kind::exclusive_or : BlockMoves::Kind::rotation, 1,
                      n()};
  }

  void step(int rank, int, std::int64_t index, ScheduleStep& step) const override {
    const int apart = static_cast<int>(index) + 1;
    if (index == 0) step.locals.push_back({{Buffer::data, rank, 1}, {Buffer::output, rank, 1}});
    if (n() == 1) return;
    const int to = exchanges_ ? rank ^ apart : ahead(rank, apart);
    const int from = exchanges_ ? to : behind(rank, apart);
    step.sends.push_back({to, {Buffer::data, to, 1}});
    step.receives.push_back({from, {Buffer::output, from, 1}});
  }

 private:
  bool exchanges_;
};

}  // namespace

SchedulePtr make_pairwise(int n) {
  return std::make_shared<Pairwise>(n);
}

std::optional<CollectiveCost> pairwise_cost(int n) {
  if (n == 1) return std::nullopt;
  const std::int64_t others = n - 1;
  return CollectiveCost{
      .rounds = others, .path_blocks = others, .reduced_blocks = 0, .sent_blocks = others};
}

}  // namespace lockstep::all_to_all

namespace lockstep {

CollectiveAlgorithm all_to_all_pairwise_row() {
  return {.collective = Collective::all_to_all,
          .name = "pairwise",
          .summary = "send one block and receive one block in every round",
          .limits = rows::kAnyRanks,
          .rounds = "n-1",
          .sent_per_rank = "(n-1)/n*S",
          .time = "(n-1)*alpha + (n-1)/n*S*beta",
          .example = "pairwise",
          .source = rows::kThakur,
          .file = "pairwise.cpp",
          .make = rows::of_n<all_to_all::make_pairwise>,
          .cost = rows::of_n<all_to_all::pairwise_cost>};
}

}  // namespace lockstep
