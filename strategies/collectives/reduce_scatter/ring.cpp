#include "strategies/collectives/row_helpers.hpp"
#include "strategies/collectives/schedules/ring_of_parts.hpp"
#include "strategies/collectives/schedules/rotating_schedule.hpp"

/// Ring reduce-scatter: sums go round one cycle of n ranks, each growing by one contribution a hop.
/// In: n >= 1 ranks, S bytes on each. Chunks: n blocks of ceil(count/n) elements.
/// Reference: bucket in Chan, Heimlich, Purkayastha and van de Geijn 2007.
namespace lockstep::reduce_scatter {
namespace {

class Ring final : public RotatingSchedule {
 public:
  explicit Ring(int n) : RotatingSchedule(n) {}

  [[nodiscard]] std::int64_t steps(int, int) const override { return n() - 1; }

  /// In round s a rank sends block rank-1-s, so that block r comes to rank r last.
  void step(int rank, int, std::int64_t index, ScheduleStep& step) const override {
    const int sent = behind(rank, static_cast<int>(index) + 1);
    step.sends.push_back({ahead(rank, 1), {Buffer::data, sent, 1}});
    step.receives.push_back({behind(rank, 1), {Buffer::data, behind(sent, 1), 1}, Combine::reduce});
  }

  [[nodiscard]] std::vector<Phase> phases() const override {
    if (n() == 1) return {};
    return {{0, n() - 1}};
  }
};

SchedulePtr make_ring(int n) {
  return std::make_shared<Ring>(n);
}

CollectiveCost ring_cost(int n) {
  const std::int64_t others = n - 1;
  return {.rounds = others, .path_blocks = others, .reduced_blocks = others, .sent_blocks = others};
}

}  // namespace

}  // namespace lockstep::reduce_scatter

namespace lockstep {

CollectiveAlgorithm reduce_scatter_ring_row() {
  return {.collective = Collective::reduce_scatter,
          .name = "ring",
          .summary = "partial sums travel around one cycle, one contribution added per hop",
          .parameters = {ring_channels_parameter()},
          .limits = rows::kAnyRanks,
          .rounds = "n-1",
          .sent_per_rank = "(n-1)/n*S",
          .time =
              "(n-1)*alpha + (n-1)/n*S*beta + (n-1)/n*S*gamma; channels that share no link "
              "divide beta by their number",
          .example = "ring:channels=8",
          .source = "Patarasuk and Yuan 2009, section 3",
          .file = "ring.cpp",
          .make =
              [](const AlgorithmInput& input) {
                const int channels = rows::number(input, "channels");
                return channels == 1 ? reduce_scatter::make_ring(input.n)
                                     : make_ring_of_parts(input.n, channels, input.layout, true);
              },
          .cost = [](const AlgorithmInput& input) -> std::optional<CollectiveCost> {
            if (rows::number(input, "channels") > 1) return std::nullopt;
            return reduce_scatter::ring_cost(input.n);
          },
          .estimate = [](const AlgorithmInput& input) -> std::optional<CollectiveCost> {
            return ring_of_parts_estimate(input.n, rows::number(input, "channels"), true);
          }};
}

}  // namespace lockstep
