#pragma once

#include <cstdint>
#include <list>
#include <map>

#include "sim/base/units.hpp"

namespace lockstep {

/// PyTorch's caching allocator as far as it determines reserved memory: best-fit blocks in cached
/// segments, split if enough remains, merged with free neighbors when freed. If the device is full,
/// free segments are returned to it. Source: pytorch/pytorch c10/cuda/CUDACachingAllocator.cpp,
/// with default settings and one stream.
class CachingAllocator {
 public:
  /// `capacity` zero: unlimited.
  explicit CachingAllocator(Bytes capacity = {}) : capacity_{capacity.count()} {}

  /// `number` identifies the block and must not be in use; InternalError otherwise.
  void take(std::uint32_t number, Bytes size);
  void give_back(std::uint32_t number);

  [[nodiscard]] Bytes reserved() const { return Bytes{reserved_}; }
  [[nodiscard]] Bytes most_reserved() const { return Bytes{most_}; }

 private:
  struct Block {
    std::int64_t size = 0;
    bool free = true;
  };
  /// A segment consists of adjacent blocks.
  struct Segment {
    bool small = false;
    std::list<Block> blocks{};
  };
  using Segments = std::list<Segment>;
  struct Place {
    Segments::iterator segment;
    std::list<Block>::iterator block;
  };

  [[nodiscard]] Place best_fit(std::int64_t size, bool small);
  [[nodiscard]] Place new_segment(std::int64_t size, bool small);
  void release_free_segments();
  static void split(const Place& place, std::int64_t size);

  std::int64_t capacity_;
  std::int64_t reserved_ = 0;
  std::int64_t most_ = 0;
  Segments segments_{};
  std::map<std::uint32_t, Place> taken_{};
};

}  // namespace lockstep
