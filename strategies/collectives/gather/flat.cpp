#include "strategies/collectives/gather/algorithms.hpp"
#include "strategies/collectives/schedules/rooted.hpp"

/// Flat gather: the root takes every rank's part, one after the other.
/// In: n >= 1 ranks, S/n bytes on each. Chunks: n blocks of ceil(count/n) elements.
/// Rounds n-1, all of them the root's; sent by every other rank one block, in the order root+1,
///   root+2, ...
/// Ideal time (n-1)*alpha + (n-1)/n*S*beta (alpha s per message, beta s per byte sent).
/// Errors: none after validate(). Source: Chan, Heimlich, Purkayastha and van de Geijn 2007,
///   section 2 (what a gather is; this is its definition carried out).
namespace lockstep::gather {
namespace {

class Flat final : public RootedSchedule {
 public:
  Flat(int n, int root) : RootedSchedule(n, root, n) {}

  [[nodiscard]] std::int64_t steps(int rank, int) const override {
    return position_of(rank) == 0 ? n() - 1 : 1;
  }

  void step(int rank, int, std::int64_t index, Step& step) const override {
    if (position_of(rank) == 0) {
      const int from = rank_at(static_cast<int>(index) + 1);
      step.receives.push_back({from, {Buffer::data, from, 1}});
    } else {
      step.sends.push_back({rank_at(0), {Buffer::data, rank, 1}});
    }
  }
};

}  // namespace

SchedulePtr make_flat(int n, int root) {
  return std::make_shared<Flat>(n, root);
}

CollectiveCost flat_cost(int n) {
  const std::int64_t leaves = n - 1;
  return {
      .rounds = leaves, .path_blocks = leaves, .reduced_blocks = 0, .sent_blocks = n > 1 ? 1 : 0};
}

}  // namespace lockstep::gather
