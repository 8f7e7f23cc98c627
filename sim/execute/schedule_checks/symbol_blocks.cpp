#include "sim/execute/schedule_checks/symbol_blocks.hpp"

#include <fmt/format.h>

#include "sim/execute/schedule/chunk_text.hpp"
#include "sim/execute/schedule/host_memory.hpp"

namespace lockstep {
namespace {

using Carried = SmallRun<Contributions, 2>;

}  // namespace

SymbolBlocks::SymbolBlocks(const Schedule& schedule, const Contract& contract,
                           ContributionSets& sets)
    : schedule_{schedule},
      sets_{sets},
      buffers_{static_cast<std::size_t>(schedule.ranks()) * kBuffers} {
  for (int rank = 0; rank < schedule.ranks(); ++rank) {
    Blocks& data = buffer(rank, Buffer::data);
    for (std::int64_t block = 0; block < schedule.blocks(); ++block) {
      Contributions& held = data[static_cast<std::size_t>(block)];
      if (rank >= contract.ranks) {
        held = sets_.zero();
      } else if (contract.holds(rank, block)) {
        held = sets_.one({rank, block});
      }
    }
  }
}

SymbolBlocks::Blocks& SymbolBlocks::buffer(int rank, Buffer buffer) {
  Blocks& blocks =
      buffers_[static_cast<std::size_t>(rank) * kBuffers + static_cast<std::size_t>(buffer)];
  if (blocks.empty()) blocks.resize(static_cast<std::size_t>(held_blocks(schedule_, rank, buffer)));
  return blocks;
}

const Contributions& SymbolBlocks::at(int rank, Buffer buffer, std::int64_t block) const {
  static const Contributions kUnwritten;
  const Blocks& blocks =
      buffers_[static_cast<std::size_t>(rank) * kBuffers + static_cast<std::size_t>(buffer)];
  return blocks.empty() ? kUnwritten : blocks[static_cast<std::size_t>(block)];
}

BlockMemory::Payload SymbolBlocks::read(int rank, std::span<const Chunk> runs) {
  std::int64_t blocks = 0;
  for (const Chunk& run : runs) blocks += run.count;
  const auto read = std::allocate_shared<Carried>(FreeListAllocator<Carried>{payloads_},
                                                  static_cast<std::size_t>(blocks));
  for (const Chunk& run : runs)
    read->append(buffer(rank, run.buffer).begin() + run.first, static_cast<std::size_t>(run.count));
  return read;
}

std::optional<std::string> SymbolBlocks::write(const ScheduleStepIndex& place,
                                               std::span<const Chunk> runs, const Payload& payload,
                                               Combine combine) {
  const Contributions* arrived = static_cast<const Carried*>(payload.get())->data();
  for (const Chunk& run : runs) {
    Blocks& blocks = buffer(place.rank, run.buffer);
    for (std::int64_t block = run.first; block < run.first + run.count; ++block, ++arrived) {
      Contributions& into = blocks[static_cast<std::size_t>(block)];
      if (combine == Combine::copy) {
        into = *arrived;
      } else if (auto what = reduce({run.buffer, block, 1}, into, *arrived)) {
        return what;
      }
    }
  }
  return std::nullopt;
}

std::optional<std::string> SymbolBlocks::reduce(Chunk at, Contributions& into,
                                                const Contributions& arrived) {
  if (!arrived.written())
    return mistake(at, fmt::format("adds an uninitialized chunk to {}", to_text(at)));
  if (!into.written())
    return mistake(at, fmt::format("adds to {}, which is uninitialized", to_text(at)));
  if (ContributionSets::differ_in_block(into, arrived))
    return mistake(at, fmt::format("adds {} to {}, which are different chunks, in {}",
                                   to_string(*ContributionSets::least(arrived)),
                                   to_string(*ContributionSets::least(into)), to_text(at)));
  if (const auto twice = sets_.add(into, arrived))
    return mistake(at, fmt::format("counts {} twice in {}", to_string(*twice), to_text(at)));
  return std::nullopt;
}

std::string SymbolBlocks::mistake(Chunk at, const std::string& what) {
  mistaken_ = at;
  return what;
}

}  // namespace lockstep
