#include "strategies/collectives/chunk_count.hpp"

#include <algorithm>

namespace lockstep {

/// One chunk more changes the time by per_chunk*alpha - fixed*S*beta/(k(k+1)), which grows with k:
/// the best is the first k where it is not negative.
std::int64_t best_chunks(PipelineRounds rounds, Bytes size, const AlphaBeta& hop) {
  const std::int64_t most = std::clamp<std::int64_t>(size.count(), 1, kMostChunks);
  if (rounds.fixed <= 0) return 1;
  const UInt128 added =
      static_cast<UInt128>((rounds.per_chunk * hop.alpha).ps()) * hop.beta.steps();
  const auto saved = static_cast<UInt128>(repeated_work(size, rounds.fixed));
  const auto pays = [&](std::int64_t k) {
    const auto product = static_cast<std::uint64_t>(k) * static_cast<std::uint64_t>(k + 1);
    return saved / product > added || (saved / product == added && saved % product > 0);
  };
  std::int64_t k = 1;
  while (k < most && pays(k)) ++k;
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
