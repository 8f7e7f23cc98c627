#include "sim/execute/schedule/float_blocks.hpp"

#include <algorithm>
#include <functional>

#include "sim/base/check.hpp"

namespace lockstep {

using Floats = SmallRun<float, 16>;

FloatBlocks::FloatBlocks(const Schedule& schedule, HostMemory& memory)
    : schedule_{schedule}, memory_{memory} {
  LOCKSTEP_CHECK(std::ssize(memory.ranks) == schedule.ranks());
  for (const RankMemory& rank : memory.ranks)
    LOCKSTEP_CHECK(std::ssize(rank.data) == schedule.blocks() * memory.block_elements);
}

BlockMemory::Payload FloatBlocks::read(int rank, std::span<const Chunk> runs) {
  std::int64_t blocks = 0;
  for (const Chunk& run : runs) blocks += run.count;
  const auto floats =
      std::allocate_shared<Floats>(FreeListAllocator<Floats>{payloads_},
                                   static_cast<std::size_t>(blocks * memory_.block_elements));
  for (const Chunk& run : runs) {
    const std::span<const float> held = chunk_of(memory_, schedule_, rank, run);
    floats->append(held.begin(), held.size());
  }
  return floats;
}

std::optional<std::string> FloatBlocks::write(const ScheduleStepIndex& place,
                                              std::span<const Chunk> runs, const Payload& payload,
                                              Combine combine) {
  const float* arrived = static_cast<const Floats*>(payload.get())->data();
  for (const Chunk& run : runs) {
    const std::span<float> into = chunk_of(memory_, schedule_, place.rank, run);
    if (combine == Combine::reduce) {
      std::transform(into.begin(), into.end(), arrived, into.begin(), std::plus<>{});
    } else {
      std::copy_n(arrived, into.size(), into.begin());
    }
    arrived += into.size();
  }
  return std::nullopt;
}

}  // namespace lockstep
