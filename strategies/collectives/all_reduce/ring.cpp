#include "strategies/collectives/all_reduce/algorithms.hpp"
#include "strategies/collectives/all_reduce/row_parts.hpp"
#include "strategies/collectives/row_helpers.hpp"
#include "strategies/collectives/schedules/ring_order.hpp"
#include "strategies/collectives/schedules/rotating_schedule.hpp"

/// Ring all-reduce: a reduce-scatter, then an all-gather, round a cycle of n ranks; with several
/// channels as many rings side by side, each on its own slice of the data. Cycles by ring_order().
/// In: n >= 1 ranks, S bytes on each. Chunks: n blocks of ceil(count/n) elements; with C channels
///   C*n blocks.
/// Reference: rings of several channels in NCCL 2.30.7, src/graph/rings.cc and connect.cc.
namespace lockstep {
namespace {

class Ring final : public RotatingSchedule {
 public:
  explicit Ring(int n) : RotatingSchedule(n) {}

  [[nodiscard]] std::int64_t steps(int, int) const override { return 2 * half(); }

  /// In round s a rank sends block rank-s, which it received in the round before. After n-1 rounds
  /// the block it receives is complete, and the same motion then hands round the results.
  void step(int rank, int, std::int64_t index, ScheduleStep& step) const override {
    const int moved = static_cast<int>(index % n());
    const int sent = behind(rank, moved);
    step.sends.push_back({ahead(rank, 1), {Buffer::data, sent, 1}});
    step.receives.push_back({behind(rank, 1),
                             {Buffer::data, behind(sent, 1), 1},
                             index < half() ? Combine::reduce : Combine::copy});
  }

  /// Two phases, because only the first one reduces.
  [[nodiscard]] std::vector<Phase> phases() const override {
    if (n() == 1) return {};
    return {{0, half()}, {half(), half()}};
  }

 private:
  [[nodiscard]] std::int64_t half() const { return std::int64_t{n()} - 1; }
};

std::optional<CollectiveCost> ring_cost(int n, int channels) {
  if (channels > 1) return std::nullopt;  // a short message's rounds overlap
  return ring_estimate(n, 1);
}

}  // namespace

SchedulePtr make_plain_ring(int n) {
  return std::make_shared<Ring>(n);
}

SchedulePtr make_ring(int n, int channels, const RankLayout& layout) {
  const SchedulePtr ring = make_plain_ring(n);
  if (channels == 1 && !ring_order(n, layout, 0).rank_at) return ring;
  std::vector<Stripe> stripes;
  for (int channel = 0; channel < channels; ++channel)
    stripes.push_back({ring, ring_order(n, layout, channel)});
  return side_by_side(std::move(stripes));
}

CollectiveCost ring_estimate(int n, int channels) {
  const std::int64_t others = n - 1;
  return {.rounds = 2 * others,
          .path_blocks = 2 * others * channels,
          .reduced_blocks = others * channels,
          .sent_blocks = 2 * others * channels};
}

CollectiveAlgorithm all_reduce_ring_row() {
  return {.collective = Collective::all_reduce,
          .name = "ring",
          .summary = "reduce-scatter, then all-gather, block by block around one or several cycles",
          .parameters = {rows::channels_parameter()},
          .limits = rows::kAnyRanks,
          .rounds = "2(n-1)",
          .sent_per_rank = "2(n-1)/n*S",
          .time =
              "2(n-1)*alpha + 2(n-1)/n*S*beta + (n-1)/n*S*gamma; channels that share no link "
              "divide beta by their number",
          .example = "ring:channels=8",
          .source = "Patarasuk and Yuan 2009, section 3; channels as in NCCL",
          .file = "ring.cpp",
          .make =
              [](const AlgorithmInput& input) {
                return make_ring(input.n, rows::number(input, "channels"), input.layout);
              },
          .cost =
              [](const AlgorithmInput& input) {
                return ring_cost(input.n, rows::number(input, "channels"));
              },
          .estimate = [](const AlgorithmInput& input) -> std::optional<CollectiveCost> {
            return ring_estimate(input.n, rows::number(input, "channels"));
          }};
}

}  // namespace lockstep
