#include "sim/schedule/schedule_traits.hpp"
#include "strategies/collectives/broadcast/algorithms.hpp"
#include "strategies/collectives/chunk_count.hpp"
#include "strategies/collectives/row_helpers.hpp"
#include "strategies/collectives/schedules/pipelined_chain.hpp"
#include "strategies/collectives/schedules/rooted.hpp"

/// Chain broadcast: root, root+1, ... pass the message on chunk by chunk, each sending one chunk
/// while it receives the next.
/// In: n >= 1 ranks, S bytes on the root. Chunks: k blocks of ceil(count/k); where k is not given
///   the best, sqrt((n-2)*S*beta/alpha) rounded to the better side.
/// With the best k the time is about (sqrt((n-2)*alpha) + sqrt(S*beta))^2. The last of the chain
///   sends nothing.
/// Reference: pipeline in Pjesivac-Grbovic et al. 2007 (Performance analysis of MPI collective
///   operations); NCCL's ring broadcast.
namespace lockstep::broadcast {
namespace {

class Chain final : public RootedSchedule, public LateSchedule {
 public:
  Chain(int n, int root, std::int64_t chunks)
      : RootedSchedule(n, root, chunks), chain_{n, chunks} {}

  [[nodiscard]] std::int64_t steps(int rank, int) const override {
    return chain_.rounds_of(position_of(rank));
  }

  [[nodiscard]] std::int64_t first_step(int rank, int) const override {
    return chain_.first_round_of(position_of(rank));
  }

  void step(int rank, int, std::int64_t index, ScheduleStep& step) const override {
    const int place = position_of(rank);
    if (const auto chunk = chain_.leaving(place, index))
      step.sends.push_back({rank_at(place + 1), {Buffer::data, *chunk, 1}});
    if (const auto chunk = chain_.reaching(place, index))
      step.receives.push_back({rank_at(place - 1), {Buffer::data, *chunk, 1}});
  }

  [[nodiscard]] std::vector<Phase> phases() const override { return chain_.phases(); }

 private:
  PipelinedChain chain_;
};

SchedulePtr make_chain(int n, int root, std::int64_t chunks) {
  return std::make_shared<Chain>(n, root, chunks);
}

CollectiveCost chain_cost(int n, std::int64_t chunks) {
  const std::int64_t rounds = PipelinedChain{n, chunks}.rounds();
  return {.rounds = rounds,
          .path_blocks = rounds,
          .reduced_blocks = 0,
          .sent_blocks = n > 1 ? chunks : 0};
}

}  // namespace

PipelineRounds chain_rounds(int n) {
  return {.fixed = n - 2, .per_chunk = 1};
}

}  // namespace lockstep::broadcast

namespace lockstep {

CollectiveAlgorithm broadcast_chain_row() {
  return {.collective = Collective::broadcast,
          .name = "chain",
          .summary = "from rank to rank, chunk after chunk, at full port bandwidth",
          .parameters = {chunks_parameter()},
          .limits = rows::kAnyRanks,
          .rounds = "n-2 + chunks; 0 for n = 1",
          .sent_per_rank = "S",
          .time =
              "(n-2 + chunks)*(alpha + S/chunks*beta); best with "
              "chunks = sqrt((n-2)*S*beta/alpha)",
          .example = "chain:chunks=16",
          .source = "Pjesivac-Grbovic et al. 2007",
          .file = "chain.cpp",
          .make =
              [](const AlgorithmInput& input) {
                return broadcast::make_chain(input.n, input.root,
                                             chunk_count(input, broadcast::chain_rounds(input.n)));
              },
          .cost = [](const AlgorithmInput& input) -> std::optional<CollectiveCost> {
            return broadcast::chain_cost(input.n,
                                         chunk_count(input, broadcast::chain_rounds(input.n)));
          }};
}

}  // namespace lockstep
