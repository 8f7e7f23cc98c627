#include "strategies/collectives/all_gather/algorithms.hpp"
#include "strategies/collectives/row_helpers.hpp"
#include "strategies/collectives/schedules/rotating_schedule.hpp"

/// Neighbour-exchange all-gather: every rank exchanges with one neighbor, then with the other, and
/// so on, passing on the two blocks that it received last. Half the rounds of a ring.
/// In: n = 1 or even ranks, S/n bytes on each. Chunks: n blocks of ceil(count/n) elements.
/// Reference: Chen, Zhang, Zhang and Yuan 2005 (Performance evaluation of allgather algorithms on
///   terascale Linux cluster with Fast Ethernet).
namespace lockstep::all_gather {
namespace {

/// Ranks 2p and 2p+1 are pair p. In the first round pairs exchange within; from then on all that
/// moves are blocks of pairs.
class NeighbourExchange final : public RotatingSchedule {
 public:
  explicit NeighbourExchange(int n) : RotatingSchedule(n, 2) {}

  [[nodiscard]] std::int64_t steps(int, int) const override { return n() / 2; }

  void step(int rank, int, std::int64_t index, ScheduleStep& step) const override {
    const auto round = static_cast<int>(index);
    const bool forward = (rank % 2 == 0) == (round % 2 == 0);
    const int peer = forward ? ahead(rank, 1) : behind(rank, 1);
    if (round == 0) {
      step.sends.push_back({peer, {Buffer::data, rank, 1}});
      step.receives.push_back({peer, {Buffer::data, peer, 1}});
    } else {
      step.sends.push_back({peer, received(rank, round - 1)});
      step.receives.push_back({peer, received(rank, round)});
    }
  }

 private:
  /// The pair's blocks that a rank receives in a round; its own pair's before the second. Even
  /// ranks receive those 1 pair behind, 1 ahead, 2 behind, 2 ahead ..., odd ranks 1 ahead, 1
  /// behind.
  [[nodiscard]] Chunk received(int rank, int round) const {
    const int distance = 2 * ((round + 1) / 2);
    const int own = rank & ~1;
    const bool from_ahead = (rank % 2 == 0) == (round % 2 == 0);
    return {Buffer::data, from_ahead ? ahead(own, distance) : behind(own, distance), 2};
  }
};

CollectiveCost neighbour_exchange_cost(int n) {
  const std::int64_t others = n - 1;
  return {.rounds = n / 2, .path_blocks = others, .reduced_blocks = 0, .sent_blocks = others};
}

std::optional<std::string> odd_ranks(const AlgorithmInput& input) {
  if (input.n == 1 || input.n % 2 == 0) return std::nullopt;
  return "needs an even number of ranks, got " + std::to_string(input.n);
}

}  // namespace

SchedulePtr make_neighbour_exchange(int n) {
  return std::make_shared<NeighbourExchange>(n);
}

}  // namespace lockstep::all_gather

namespace lockstep {

CollectiveAlgorithm all_gather_neighbour_exchange_row() {
  return {.collective = Collective::all_gather,
          .name = "neighbour_exchange",
          .summary = "exchange with one neighbor, then the other: half the rounds of a ring",
          .limits = "n even, or 1",
          .rounds = "n/2; 0 for n = 1",
          .sent_per_rank = "(n-1)/n*S",
          .time = "n/2*alpha + (n-1)/n*S*beta",
          .example = "neighbour_exchange",
          .source = "Chen, Zhang, Zhang and Yuan 2005",
          .file = "neighbour_exchange.cpp",
          .make = rows::of_n<all_gather::make_neighbour_exchange>,
          .cost = rows::of_n<all_gather::neighbour_exchange_cost>,
          .refusal = all_gather::odd_ranks};
}

}  // namespace lockstep
