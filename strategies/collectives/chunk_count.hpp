#pragma once

#include <cstdint>

#include "strategies/collectives/algorithm.hpp"

namespace lockstep {

/// Rounds of a pipeline of k chunks: fixed + per_chunk * k, each as long as one chunk takes.
struct PipelineRounds {
  std::int64_t fixed = 0;
  std::int64_t per_chunk = 1;
  bool reduces = false;  // every chunk is added up where it arrives
};

inline constexpr std::int64_t kMostChunks = 65536;
/// Taken where the message's length or the cost of a hop is not known.
inline constexpr std::int64_t kUnknownBestChunks = 8;

/// The k that makes (fixed + per_chunk * k) * (alpha + S/k*(beta + gamma)) least:
/// sqrt(fixed*S*(beta + gamma) / (per_chunk*alpha)) rounded to the better side, at least 1, at most
/// one chunk per byte, 256 for each fixed round and kMostChunks; without gamma where nothing is
/// reduced.
[[nodiscard]] std::int64_t best_chunks(PipelineRounds rounds, Bytes size, const AlphaBeta& hop);

/// The argument `chunks` if there is one, else the best.
[[nodiscard]] std::int64_t chunk_count(const AlgorithmInput& input, PipelineRounds rounds);

/// The parameter that chunk_count() reads.
[[nodiscard]] AlgorithmParameter chunks_parameter();

}  // namespace lockstep
