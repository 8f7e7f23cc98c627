#include "strategies/collectives/row_helpers.hpp"
#include "strategies/collectives/schedules/block_schedule.hpp"
#include "strategies/collectives/send_recv/algorithms.hpp"

/// Shift: every rank sends all it has to the rank `distance` ahead and receives from the one as far
/// behind. What a pipeline's stages do, and what nccl-tests' sendrecv measures with distance 1.
/// In: n >= 1 ranks, S bytes on each. Chunks: the whole message, one block.
/// Reference: MPI-4.0, section 3.10 (send-receive, shift).
namespace lockstep::send_recv {
namespace {

class Shift final : public BlockSchedule {
 public:
  Shift(int n, int distance) : BlockSchedule(n, 1), distance_{distance % n} {}

  [[nodiscard]] Buffer result() const override { return Buffer::output; }
  [[nodiscard]] std::int64_t steps(int, int) const override { return 1; }

  void step(int rank, int, std::int64_t, ScheduleStep& step) const override {
    const Chunk result{Buffer::output, 0, 1};
    if (distance_ == 0) {
      step.locals.push_back({whole(), result});
    } else {
      step.sends.push_back({ahead(rank, distance_), whole()});
      step.receives.push_back({behind(rank, distance_), result});
    }
  }

 private:
  int distance_;
};

}  // namespace

SchedulePtr make_shift(int n, int distance) {
  return std::make_shared<Shift>(n, distance);
}

std::optional<CollectiveCost> shift_cost(int n, int distance) {
  if (distance % n == 0) return std::nullopt;
  return CollectiveCost{.rounds = 1, .path_blocks = 1, .reduced_blocks = 0, .sent_blocks = 1};
}

}  // namespace lockstep::send_recv

namespace lockstep {

CollectiveAlgorithm send_recv_shift_row() {
  return {.collective = Collective::send_recv,
          .name = "shift",
          .summary = "send to the rank `distance` ahead, receive from the rank as far behind",
          .parameters = {{.name = "distance",
                          .meaning = "ranks from sender to receiver, modulo n",
                          .fallback = 1}},
          .limits = rows::kAnyRanks,
          .rounds = "1",
          .sent_per_rank = "S",
          .time = "alpha + S*beta",
          .example = "shift:distance=4",
          .source = "NVIDIA nccl-tests, src/sendrecv.cu",
          .file = "shift.cpp",
          .make =
              [](const AlgorithmInput& input) {
                return send_recv::make_shift(input.n, rows::number(input, "distance"));
              },
          .cost =
              [](const AlgorithmInput& input) {
                return send_recv::shift_cost(input.n, rows::number(input, "distance"));
              }};
}

}  // namespace lockstep
