#pragma once

#include <algorithm>
#include <vector>

#include "sim/execute/schedule/block_memory.hpp"
#include "sim/execute/schedule/host_memory.hpp"

namespace lockstep {

/// A memory that records which step last wrote each block.
class WriteLog final : public BlockMemory {
 public:
  /// Both must outlive this object.
  WriteLog(const Schedule& schedule, BlockMemory& inner)
      : schedule_{schedule},
        inner_{inner},
        buffers_{static_cast<std::size_t>(schedule.ranks()) * kBuffers} {}

  [[nodiscard]] Payload read(int rank, std::span<const Chunk> runs) override {
    return inner_.read(rank, runs);
  }
  [[nodiscard]] std::optional<std::string> write(const ScheduleStepIndex& place,
                                                 std::span<const Chunk> runs,
                                                 const Payload& payload, Combine combine) override {
    ++writes_;
    for (const Chunk& run : runs) {
      std::vector<Writer>& writers = buffers_[index(place.rank, run.buffer)];
      if (writers.empty())
        writers.resize(static_cast<std::size_t>(held_blocks(schedule_, place.rank, run.buffer)));
      std::fill_n(writers.begin() + run.first, run.count, Writer{place.lane, place.step, writes_});
    }
    return inner_.write(place, runs, payload, combine);
  }

  /// None: the block has its initial contents.
  [[nodiscard]] std::optional<ScheduleStepIndex> last_write(int rank, Buffer buffer,
                                                            std::int64_t block) const {
    const Writer writer = writer_of(rank, buffer, block);
    if (writer.lane < 0) return std::nullopt;
    return ScheduleStepIndex{rank, writer.lane, writer.step};
  }
  /// Sequence number of that write, 1-based; 0: none.
  [[nodiscard]] std::int64_t last_number(int rank, Buffer buffer, std::int64_t block) const {
    return writer_of(rank, buffer, block).number;
  }

 private:
  static constexpr std::size_t kBuffers = 3;
  struct Writer {
    int lane = -1;
    std::int64_t step = 0;
    std::int64_t number = 0;
  };

  [[nodiscard]] Writer writer_of(int rank, Buffer buffer, std::int64_t block) const {
    const std::vector<Writer>& writers = buffers_[index(rank, buffer)];
    return writers.empty() ? Writer{} : writers[static_cast<std::size_t>(block)];
  }

  [[nodiscard]] static std::size_t index(int rank, Buffer buffer) {
    return static_cast<std::size_t>(rank) * kBuffers + static_cast<std::size_t>(buffer);
  }

  const Schedule& schedule_;
  BlockMemory& inner_;
  std::vector<std::vector<Writer>> buffers_;
  std::int64_t writes_ = 0;
};

}  // namespace lockstep
