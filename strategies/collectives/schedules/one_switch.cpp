#include "strategies/collectives/schedules/one_switch.hpp"

#include <algorithm>
#include <memory>

namespace lockstep {
namespace {

constexpr int kUp = 0;  // lanes, and the channels of their messages
constexpr int kDown = 1;

class OneSwitch final : public Schedule {
 public:
  OneSwitch(int n, std::int64_t chunks, Combine combine)
      : n_{n}, chunks_{chunks}, combine_{combine} {}

  [[nodiscard]] int ranks() const override { return n_ > 1 ? n_ + 1 : 1; }
  [[nodiscard]] int lanes() const override { return 2; }
  [[nodiscard]] std::int64_t blocks() const override { return n_ * chunks_; }
  [[nodiscard]] std::int64_t steps(int rank, int lane) const override {
    if (n_ == 1) return 0;
    const bool of_all = rank == n_ || (lane == kUp) == reduces();
    return of_all ? blocks() : chunks_;
  }

  void step(int rank, int lane, std::int64_t index, ScheduleStep& step) const override {
    if (rank == n_) return switch_step(lane, index, step);
    const bool of_all = (lane == kUp) == reduces();
    const std::int64_t block = of_all ? at(index) : rank * chunks_ + index;
    if (lane == kUp) {
      step.sends.push_back({n_, {Buffer::data, block, 1}, kUp});
    } else {
      step.receives.push_back({n_, {Buffer::data, block, 1}, Combine::copy, kDown});
    }
  }

 private:
  [[nodiscard]] bool reduces() const { return combine_ == Combine::reduce; }
  [[nodiscard]] int owner(std::int64_t turn) const { return static_cast<int>(turn % n_); }
  [[nodiscard]] std::int64_t at(std::int64_t turn) const {
    return owner(turn) * chunks_ + turn / n_;
  }

  void switch_step(int lane, std::int64_t turn, ScheduleStep& step) const {
    const Chunk block{reduces() ? Buffer::data : Buffer::output, at(turn), 1};
    const bool one = (lane == kUp) != reduces();
    const int first = one ? owner(turn) : 0;
    for (int rank = first; rank < (one ? first + 1 : n_); ++rank) {
      if (lane == kUp) {
        step.receives.push_back({rank, block, combine_, kUp});
      } else {
        step.sends.push_back({rank, block, kDown});
      }
    }
    if (lane == kDown) step.after.push_back({kUp, turn});
  }

  int n_;
  std::int64_t chunks_;
  Combine combine_;
};

}  // namespace

SchedulePtr one_switch_reduce_scatter(int n, std::int64_t chunks) {
  return std::make_shared<OneSwitch>(n, chunks, Combine::reduce);
}

SchedulePtr one_switch_all_gather(int n, std::int64_t chunks) {
  return std::make_shared<OneSwitch>(n, chunks, Combine::copy);
}

PipelineRounds one_switch_rounds(const AlgorithmInput& input) {
  return {.fixed = 1, .per_chunk = input.n, .parts = input.n};
}

std::optional<CollectiveCost> one_switch_estimate(const AlgorithmInput& input,
                                                  std::int64_t sent_per_chunk) {
  if (input.n == 1) return std::nullopt;
  const std::int64_t chunks = chunk_count(input, one_switch_rounds(input));
  const std::int64_t rounds = input.n * chunks + 1;
  return CollectiveCost{
      .rounds = rounds, .path_blocks = rounds, .sent_blocks = sent_per_chunk * chunks};
}

std::optional<std::string> one_switch_refusal(const AlgorithmInput& input) {
  const auto& above = input.layout.node_switches;
  if (above.empty()) return "needs a switch that reduces above all ranks; this cluster has none";
  const auto n = static_cast<std::size_t>(input.n);
  const bool alone =
      above.size() == n + 1 && std::all_of(above.begin(), above.begin() + input.n,
                                           [&](int node_switch) { return node_switch == input.n; });
  if (!alone) return "needs all ranks below one switch that reduces, inside one node";
  return std::nullopt;
}

}  // namespace lockstep
