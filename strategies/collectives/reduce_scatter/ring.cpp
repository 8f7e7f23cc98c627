#include "strategies/collectives/reduce_scatter/algorithms.hpp"
#include "strategies/collectives/schedules/rotating_schedule.hpp"

/// Ring reduce-scatter: sums go round one cycle of n ranks, each growing by one contribution a hop.
/// In: n >= 1 ranks, S bytes on each. Chunks: n blocks of ceil(count/n) elements.
/// Rounds n-1; sent per rank n-1 blocks.
/// Ideal time (n-1)*alpha + (n-1)/n*S*beta + (n-1)/n*S*gamma (alpha s per message, beta s per byte
///   sent, gamma s per byte reduced).
/// Errors: none after validate(). Source: Chan, Heimlich, Purkayastha and van de Geijn 2007
///   (bucket); Patarasuk and Yuan 2009, section 3.
namespace lockstep::reduce_scatter {
namespace {

class Ring final : public RotatingSchedule {
 public:
  explicit Ring(int n) : RotatingSchedule(n) {}

  [[nodiscard]] std::int64_t steps(int, int) const override { return n() - 1; }

  /// In round s a rank sends block rank-1-s, so that block r comes to rank r last.
  void step(int rank, int, std::int64_t index, Step& step) const override {
    const int sent = behind(rank, static_cast<int>(index) + 1);
    step.sends.push_back({ahead(rank, 1), {Buffer::data, sent, 1}});
    step.receives.push_back({behind(rank, 1), {Buffer::data, behind(sent, 1), 1}, Combine::reduce});
  }

  [[nodiscard]] std::vector<Phase> phases() const override {
    if (n() == 1) return {};
    return {{0, n() - 1}};
  }
};

}  // namespace

SchedulePtr make_ring(int n) {
  return std::make_shared<Ring>(n);
}

CollectiveCost ring_cost(int n) {
  const std::int64_t others = n - 1;
  return {.rounds = others, .path_blocks = others, .reduced_blocks = others, .sent_blocks = others};
}

}  // namespace lockstep::reduce_scatter
