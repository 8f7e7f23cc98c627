#include <algorithm>
#include <optional>

#include "strategies/collectives/broadcast/algorithms.hpp"
#include "strategies/collectives/chunk_count.hpp"
#include "strategies/collectives/row_helpers.hpp"
#include "strategies/collectives/schedules/rooted.hpp"

/// Binary tree broadcast: every rank passes each chunk to its first child, then to its second,
/// while the next chunk is already on its way to it.
/// In: n >= 1 ranks, S bytes on the root; counted from the root, the children of rank p are 2p+1
///   and 2p+2. Chunks: k blocks of ceil(count/k); where k is not given the best.
/// One port sends everything twice, so that at best half of its bandwidth is used; a chain has the
/// whole of it, a binomial tree the fewest rounds.
/// h is the number of rounds to the last rank: a first child receives one round after its parent, a
///   second child two. With n = 2 no rank has a second child.
/// Reference: binary tree in Pjesivac-Grbovic et al. 2007 (Performance analysis of MPI collective
///   operations); Sanders, Speck and Traeff 2009, section 2.
namespace lockstep::broadcast {
namespace {

/// The round in which a position receives its first chunk; the root would in round -1.
int first_round(int position) {
  int round = -1;
  for (int at = position; at > 0; at = (at - 1) / 2) round += at % 2 == 1 ? 1 : 2;
  return round;
}

/// The latest of all positions. Counted from 1 a position's binary digits after the first are the
/// way down, 1 for a second child: of all numbers up to n, one with the most digits and, among
/// those, ones.
int last_first_round(int n) {
  int latest = -1;
  for (int bit = 0; (1 << bit) <= n; ++bit) {
    // n itself, or n's digits down to a 1 there, that one cleared and all below it set.
    if ((n >> bit) % 2 == 0) continue;
    const int below = ((n >> bit) - 1) << bit | ((1 << bit) - 1);
    if (below >= 1) latest = std::max(latest, first_round(below - 1));
  }
  return std::max(latest, first_round(n - 1));
}

class BinaryTree final : public RootedSchedule {
 public:
  BinaryTree(int n, int root, std::int64_t chunks)
      : RootedSchedule(n, root, chunks), rounds_per_chunk_{n > 2 ? 2 : 1} {}

  /// Until the last chunk has gone to the last child.
  [[nodiscard]] std::int64_t steps(int rank, int) const override {
    const int position = position_of(rank);
    const int last_act = has(second(position)) ? 2 : has(first(position)) ? 1 : 0;
    return n() > 1 ? first_round(position) + last_act + rounds_per_chunk_ * (blocks() - 1) + 1 : 0;
  }

  void step(int rank, int, std::int64_t index, ScheduleStep& step) const override {
    const int position = position_of(rank);
    const std::int64_t round = index - first_round(position);  // since the first chunk came
    if (const auto chunk = chunk_of(round); chunk && position > 0)
      step.receives.push_back({rank_at((position - 1) / 2), *chunk});
    if (const auto chunk = chunk_of(round - 1); chunk && has(first(position)))
      step.sends.push_back({rank_at(first(position)), *chunk});
    if (const auto chunk = chunk_of(round - 2); chunk && has(second(position)))
      step.sends.push_back({rank_at(second(position)), *chunk});
  }

 private:
  [[nodiscard]] static int first(int position) { return 2 * position + 1; }
  [[nodiscard]] static int second(int position) { return 2 * position + 2; }
  [[nodiscard]] bool has(int position) const { return position < n(); }

  /// The chunk whose turn it is, if it is one's.
  [[nodiscard]] std::optional<Chunk> chunk_of(std::int64_t round) const {
    const std::int64_t index = round / rounds_per_chunk_;
    if (round < 0 || round % rounds_per_chunk_ != 0 || index >= blocks()) return std::nullopt;
    return Chunk{Buffer::data, index, 1};
  }

  std::int64_t rounds_per_chunk_;
};

SchedulePtr make_binary_tree(int n, int root, std::int64_t chunks) {
  return std::make_shared<BinaryTree>(n, root, chunks);
}

}  // namespace

CollectiveCost binary_tree_cost(int n, std::int64_t chunks) {
  if (n == 1) return {};
  const PipelineRounds pipeline = binary_tree_rounds(n);
  const std::int64_t rounds = pipeline.fixed + pipeline.per_chunk * chunks;
  return {.rounds = rounds,
          .path_blocks = rounds,
          .reduced_blocks = 0,
          .sent_blocks = pipeline.per_chunk * chunks};
}

PipelineRounds binary_tree_rounds(int n) {
  if (n <= 2) return {.fixed = 0, .per_chunk = 1};
  return {.fixed = last_first_round(n) - 1, .per_chunk = 2};
}

}  // namespace lockstep::broadcast

namespace lockstep {

CollectiveAlgorithm broadcast_binary_tree_row() {
  return {.collective = Collective::broadcast,
          .name = "binary_tree",
          .summary = "down a tree with two children each, chunk after chunk",
          .parameters = {chunks_parameter()},
          .limits = rows::kAnyRanks,
          .rounds =
              "h + 2*chunks - 1, h at most 2*floor(lg n) - 1 rounds to the last rank; chunks for "
              "n = 2",
          .sent_per_rank = "2*S; S for n = 2",
          .time = "(h + 2*chunks - 1)*(alpha + S/chunks*beta)",
          .example = "binary_tree:chunks=16",
          .source = "Pjesivac-Grbovic et al. 2007",
          .file = "binary_tree.cpp",
          .make =
              [](const AlgorithmInput& input) {
                return broadcast::make_binary_tree(
                    input.n, input.root,
                    chunk_count(input, broadcast::binary_tree_rounds(input.n)));
              },
          .cost = [](const AlgorithmInput& input) -> std::optional<CollectiveCost> {
            return broadcast::binary_tree_cost(
                input.n, chunk_count(input, broadcast::binary_tree_rounds(input.n)));
          }};
}

}  // namespace lockstep
