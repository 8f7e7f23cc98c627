#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/schedule/schedule.hpp"

namespace lockstep {

/// One rank's memory. `output` and `scratch` come into being when a step first names them, filled
/// with NaN, so that a read of an uninitialized block gives NaN.
struct RankMemory {
  std::vector<float> data;
  std::vector<float> output;
  std::vector<float> scratch;
};

struct HostMemory {
  std::int64_t block_elements = 0;  // length of one of the schedule's blocks
  std::vector<RankMemory> ranks;    // `data` is blocks * block_elements long
};

/// Blocks that a buffer of a rank has.
[[nodiscard]] std::int64_t held_blocks(const Schedule& schedule, int rank, Buffer buffer);

/// The numbers of a chunk that lies within its buffer.
[[nodiscard]] std::span<float> chunk_of(HostMemory& memory, const Schedule& schedule, int rank,
                                        Chunk chunk);

}  // namespace lockstep
