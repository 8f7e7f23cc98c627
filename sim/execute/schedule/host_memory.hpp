#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/schedule/schedule.hpp"

namespace lockstep {

/// Memory of one rank. `output` and `scratch` are allocated on first use, filled with NaN, so that
/// reading an uninitialized block gives NaN.
struct RankMemory {
  std::vector<float> data;
  std::vector<float> output;
  std::vector<float> scratch;
};

struct HostMemory {
  std::int64_t block_elements = 0;  // elements per block
  std::vector<RankMemory> ranks;    // `data` is blocks * block_elements long
};

/// Number of blocks in a buffer of a rank.
[[nodiscard]] std::int64_t held_blocks(const Schedule& schedule, int rank, Buffer buffer);

/// The elements of a chunk, which must lie within its buffer.
[[nodiscard]] std::span<float> chunk_of(HostMemory& memory, const Schedule& schedule, int rank,
                                        Chunk chunk);

}  // namespace lockstep
