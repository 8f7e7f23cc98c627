#pragma once

#include <cstdint>

#include "strategies/collectives/algorithm.hpp"

namespace lockstep {

/// A pipeline of k chunks has fixed + per_chunk * k rounds, each as long as one of `parts` of a
/// chunk takes.
struct PipelineRounds {
  std::int64_t fixed = 0;
  std::int64_t per_chunk = 1;
  bool reduces = false;  // every chunk is reduced on arrival
  std::int64_t parts = 1;
};

inline constexpr std::int64_t kMostChunks = 65536;
/// Used if the message size or the cost of a hop is unknown.
inline constexpr std::int64_t kUnknownBestChunks = 8;

/// The k that minimizes (fixed + per_chunk * k) * (alpha + S/(parts*k)*(beta + gamma)):
/// sqrt(fixed*S*(beta + gamma) / (parts*per_chunk*alpha)), rounded to the better neighbor and
/// limited to 1 .. min(bytes, 256 per fixed round, kMostChunks); without gamma if nothing is
/// reduced.
[[nodiscard]] std::int64_t best_chunks(PipelineRounds rounds, Bytes size, const AlphaBeta& hop);

/// The argument `chunks` if given, else best_chunks().
[[nodiscard]] std::int64_t chunk_count(const AlgorithmInput& input, PipelineRounds rounds);

/// The parameter that chunk_count() reads.
[[nodiscard]] AlgorithmParameter chunks_parameter();

}  // namespace lockstep
