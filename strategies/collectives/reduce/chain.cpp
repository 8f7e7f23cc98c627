#include "sim/schedule/schedule_traits.hpp"
#include "strategies/collectives/chunk_count.hpp"
#include "strategies/collectives/reduce/algorithms.hpp"
#include "strategies/collectives/row_helpers.hpp"
#include "strategies/collectives/schedules/pipelined_chain.hpp"
#include "strategies/collectives/schedules/rooted.hpp"

/// Chain reduce: sums run from rank root-1 down to root+1 and the root, chunk by chunk; each rank
/// adds its own to one chunk while it sends the one before.
/// In: n >= 1 ranks, S bytes on each. Chunks: k blocks of ceil(count/k); where k is not given the
///   best, sqrt((n-2)*S*(beta+gamma)/alpha) rounded to the better side.
/// Reference: pipeline in Pjesivac-Grbovic et al. 2007 (Performance analysis of MPI collective
///   operations); NCCL's ring reduce.
namespace lockstep::reduce {
namespace {

class Chain final : public RootedSchedule, public LateSchedule {
 public:
  Chain(int n, int root, std::int64_t chunks)
      : RootedSchedule(n, root, chunks), chain_{n, chunks} {}

  [[nodiscard]] std::int64_t steps(int rank, int) const override {
    return chain_.rounds_of(place_of(rank));
  }

  [[nodiscard]] std::int64_t first_step(int rank, int) const override {
    return chain_.first_round_of(place_of(rank));
  }

  void step(int rank, int, std::int64_t index, ScheduleStep& step) const override {
    const int place = place_of(rank);
    if (const auto chunk = chain_.leaving(place, index))
      step.sends.push_back({behind(rank, 1), {Buffer::data, *chunk, 1}});
    if (const auto chunk = chain_.reaching(place, index))
      step.receives.push_back({ahead(rank, 1), {Buffer::data, *chunk, 1}, Combine::reduce});
  }

  [[nodiscard]] std::vector<Phase> phases() const override { return chain_.phases(); }

 private:
  /// The last position comes first, the root last.
  [[nodiscard]] int place_of(int rank) const { return n() - 1 - position_of(rank); }

  PipelinedChain chain_;
};

SchedulePtr make_chain(int n, int root, std::int64_t chunks) {
  return std::make_shared<Chain>(n, root, chunks);
}

CollectiveCost chain_cost(int n, std::int64_t chunks) {
  const std::int64_t rounds = PipelinedChain{n, chunks}.rounds();
  return {.rounds = rounds,
          .path_blocks = rounds,
          .reduced_blocks = rounds,
          .sent_blocks = n > 1 ? chunks : 0};
}

}  // namespace

PipelineRounds chain_rounds(int n) {
  return {.fixed = n - 2, .per_chunk = 1, .reduces = true};
}

}  // namespace lockstep::reduce

namespace lockstep {

CollectiveAlgorithm reduce_chain_row() {
  return {
      .collective = Collective::reduce,
      .name = "chain",
      .summary = "partial sums pass from rank to rank, chunk after chunk, at full port bandwidth",
      .parameters = {chunks_parameter()},
      .limits = rows::kAnyRanks,
      .rounds = "n-2 + chunks; 0 for n = 1",
      .sent_per_rank = "S by all but the root",
      .time =
          "(n-2 + chunks)*(alpha + S/chunks*beta + S/chunks*gamma); best with "
          "chunks = sqrt((n-2)*S*(beta + gamma)/alpha)",
      .example = "chain:chunks=16",
      .source = "Pjesivac-Grbovic et al. 2007",
      .file = "chain.cpp",
      .make =
          [](const AlgorithmInput& input) {
            return reduce::make_chain(input.n, input.root,
                                      chunk_count(input, reduce::chain_rounds(input.n)));
          },
      .cost = [](const AlgorithmInput& input) -> std::optional<CollectiveCost> {
        return reduce::chain_cost(input.n, chunk_count(input, reduce::chain_rounds(input.n)));
      }};
}

}  // namespace lockstep
