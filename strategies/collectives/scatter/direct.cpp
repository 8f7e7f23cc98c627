#include "strategies/collectives/scatter/algorithms.hpp"
#include "strategies/collectives/schedules/rooted.hpp"

/// Direct scatter: the root posts every rank's part at once.
/// In: n >= 1 ranks, S bytes on the root. Chunks: n blocks of ceil(count/n) elements.
/// Rounds 1; sent by the root n-1 blocks, in the order root+1, root+2, ...
/// Ideal time alpha + (n-1)/n*S*beta (alpha s per message, beta s per byte sent).
/// Errors: none after validate(). Source: NCCL, documentation of point-to-point communication
///   (one-to-all as grouped sends and receives).
namespace lockstep::scatter {
namespace {

class Direct final : public RootedSchedule {
 public:
  Direct(int n, int root) : RootedSchedule(n, root, n) {}

  [[nodiscard]] std::int64_t steps(int, int) const override { return n() > 1 ? 1 : 0; }

  void step(int rank, int, std::int64_t, Step& step) const override {
    if (position_of(rank) != 0) {
      step.receives.push_back({rank_at(0), {Buffer::data, rank, 1}});
      return;
    }
    for (int position = 1; position < n(); ++position) {
      const int to = rank_at(position);
      step.sends.push_back({to, {Buffer::data, to, 1}});
    }
  }
};

}  // namespace

SchedulePtr make_direct(int n, int root) {
  return std::make_shared<Direct>(n, root);
}

CollectiveCost direct_cost(int n) {
  const std::int64_t leaves = n - 1;
  return {
      .rounds = n > 1 ? 1 : 0, .path_blocks = leaves, .reduced_blocks = 0, .sent_blocks = leaves};
}

}  // namespace lockstep::scatter
