#include "strategies/collectives/all_gather/algorithms.hpp"
#include "strategies/collectives/schedules/rotating_schedule.hpp"

/// Direct all-gather: everyone sends its block to everyone, all at once. Also called all-pairs.
/// In: n >= 1 ranks, S/n bytes on each. Chunks: n blocks of ceil(count/n) elements.
/// Rounds 1; sent per rank n-1 blocks, in the order rank+1, rank+2, ... mod n.
/// Ideal time alpha + (n-1)/n*S*beta (alpha s per message, beta s per byte sent).
/// Errors: none after validate(). Source: MSCCL all-pairs; Open MPI's linear all-gather.
namespace lockstep::all_gather {
namespace {

class Direct final : public RotatingSchedule {
 public:
  explicit Direct(int n) : RotatingSchedule(n) {}

  [[nodiscard]] std::int64_t steps(int, int) const override { return n() > 1 ? 1 : 0; }

  void step(int rank, int, std::int64_t, Step& step) const override {
    for (int distance = 1; distance < n(); ++distance) {
      const int from = behind(rank, distance);
      step.sends.push_back({ahead(rank, distance), {Buffer::data, rank, 1}});
      step.receives.push_back({from, {Buffer::data, from, 1}});
    }
  }
};

}  // namespace

SchedulePtr make_direct(int n) {
  return std::make_shared<Direct>(n);
}

CollectiveCost direct_cost(int n) {
  const std::int64_t others = n - 1;
  return {
      .rounds = n > 1 ? 1 : 0, .path_blocks = others, .reduced_blocks = 0, .sent_blocks = others};
}

}  // namespace lockstep::all_gather
