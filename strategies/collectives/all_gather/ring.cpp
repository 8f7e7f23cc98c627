#include "strategies/collectives/row_helpers.hpp"
#include "strategies/collectives/schedules/ring_of_parts.hpp"
#include "strategies/collectives/schedules/rotating_schedule.hpp"

/// Ring all-gather: blocks go round one cycle of n ranks.
/// In: n >= 1 ranks, S/n bytes on each. Chunks: n blocks of ceil(count/n) elements.
/// Reference: bucket in Chan, Heimlich, Purkayastha and van de Geijn 2007; also Thakur,
///   Rabenseifner and Gropp 2005, section 4.
namespace lockstep::all_gather {
namespace {

class Ring final : public RotatingSchedule {
 public:
  explicit Ring(int n) : RotatingSchedule(n) {}

  [[nodiscard]] std::int64_t steps(int, int) const override { return n() - 1; }

  /// In round s a rank sends block rank-s, which it received in the round before.
  void step(int rank, int, std::int64_t index, ScheduleStep& step) const override {
    const int sent = behind(rank, static_cast<int>(index));
    step.sends.push_back({ahead(rank, 1), {Buffer::data, sent, 1}});
    step.receives.push_back({behind(rank, 1), {Buffer::data, behind(sent, 1), 1}});
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
  return {.rounds = others, .path_blocks = others, .reduced_blocks = 0, .sent_blocks = others};
}

}  // namespace

}  // namespace lockstep::all_gather

namespace lockstep {

CollectiveAlgorithm all_gather_ring_row() {
  return {.collective = Collective::all_gather,
          .name = "ring",
          .summary = "block by block around one or several cycles",
          .parameters = {ring_channels_parameter()},
          .limits = rows::kAnyRanks,
          .rounds = "n-1",
          .sent_per_rank = "(n-1)/n*S",
          .time =
              "(n-1)*alpha + (n-1)/n*S*beta; channels that share no link divide beta by their "
              "number",
          .example = "ring:channels=8",
          .source = "Chan, Heimlich, Purkayastha and van de Geijn 2007",
          .file = "ring.cpp",
          .make =
              [](const AlgorithmInput& input) {
                const int channels = rows::number(input, "channels");
                return channels == 1 ? all_gather::make_ring(input.n)
                                     : make_ring_of_parts(input.n, channels, input.layout, false);
              },
          .cost = [](const AlgorithmInput& input) -> std::optional<CollectiveCost> {
            if (rows::number(input, "channels") > 1) return std::nullopt;
            return all_gather::ring_cost(input.n);
          },
          .estimate = [](const AlgorithmInput& input) -> std::optional<CollectiveCost> {
            return ring_of_parts_estimate(input.n, rows::number(input, "channels"), false);
          }};
}

}  // namespace lockstep
