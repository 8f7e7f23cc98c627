#include "strategies/collectives/chunk_count.hpp"

#include <algorithm>

namespace lockstep {
namespace {

/// So many chunks for each fixed round leave 1/256 of a message's time to be gained; more would
/// only be padding where messages cost no latency.
constexpr std::int64_t kMostPerRound = 256;

}  // namespace

/// With w = S*(beta + gamma) one chunk more changes the time by per_chunk*alpha -
/// fixed*w/(parts*k(k+1)), which grows with k: the best is the first k where it is not negative.
std::int64_t best_chunks(PipelineRounds rounds, Bytes size, const AlphaBeta& hop) {
  Duration whole = size / hop.beta;
  if (rounds.reduces && hop.gamma) whole += size / *hop.gamma;
  const Int128 saved = Int128{rounds.fixed} * whole.ps();
  const Int128 added = Int128{rounds.parts * rounds.per_chunk} * hop.alpha.ps();
  const std::int64_t worth = kMostPerRound * std::max<std::int64_t>(rounds.fixed, 1);
  const std::int64_t most = std::clamp<std::int64_t>(size.count(), 1, std::min(worth, kMostChunks));
  std::int64_t k = 1;
  while (k < most && Int128{k} * (k + 1) * added < saved) ++k;
  return k;
}

std::int64_t chunk_count(const AlgorithmInput& input, PipelineRounds rounds) {
  if (const auto given = input.number("chunks")) return *given;
  if (!input.size || !input.hop) return kUnknownBestChunks;
  return best_chunks(rounds, *input.size, *input.hop);
}

AlgorithmParameter chunks_parameter() {
  return {.name = "chunks",
          .meaning = "chunks that follow one another; the best for size and hop if not given",
          .most = kMostChunks};
}

}  // namespace lockstep
