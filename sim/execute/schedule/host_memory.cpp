#include "sim/execute/schedule/host_memory.hpp"

#include <limits>

namespace lockstep {
namespace {

std::vector<float>& buffer_of(RankMemory& memory, Buffer buffer) {
  switch (buffer) {
    case Buffer::data:
      return memory.data;
    case Buffer::output:
      return memory.output;
    case Buffer::scratch:
      break;
  }
  return memory.scratch;
}

}  // namespace

std::int64_t held_blocks(const Schedule& schedule, int rank, Buffer buffer) {
  return buffer == Buffer::scratch ? schedule.scratch_blocks(rank) : schedule.blocks();
}

std::span<float> chunk_of(HostMemory& memory, const Schedule& schedule, int rank, Chunk chunk) {
  std::vector<float>& buffer =
      buffer_of(memory.ranks[static_cast<std::size_t>(rank)], chunk.buffer);
  const std::int64_t length = memory.block_elements;
  if (buffer.empty()) {
    const std::int64_t floats = held_blocks(schedule, rank, chunk.buffer) * length;
    buffer.assign(static_cast<std::size_t>(floats), std::numeric_limits<float>::quiet_NaN());
  }
  return std::span{buffer}.subspan(static_cast<std::size_t>(chunk.first * length),
                                   static_cast<std::size_t>(chunk.count * length));
}

}  // namespace lockstep
