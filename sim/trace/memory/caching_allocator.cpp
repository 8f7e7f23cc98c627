#include "sim/trace/memory/caching_allocator.hpp"

#include <algorithm>
#include <iterator>

#include "sim/base/check.hpp"
#include "sim/base/math.hpp"

namespace lockstep {

namespace {

// Names and values as in the source.
constexpr std::int64_t kMinBlockSize = 512;
constexpr std::int64_t kSmallSize = 1 << 20;
constexpr std::int64_t kSmallBuffer = 2 << 20;
constexpr std::int64_t kLargeBuffer = 20 << 20;
constexpr std::int64_t kMinLargeAlloc = 10 << 20;
constexpr std::int64_t kRoundLarge = 2 << 20;

std::int64_t segment_size(std::int64_t size) {
  if (size <= kSmallSize) return kSmallBuffer;
  return size < kMinLargeAlloc ? kLargeBuffer : round_up(size, kRoundLarge);
}

}  // namespace

void CachingAllocator::take(std::uint32_t number, Bytes bytes) {
  LOCKSTEP_CHECK(!taken_.contains(number));
  const std::int64_t size = std::max(kMinBlockSize, round_up(bytes.count(), kMinBlockSize));
  const bool small = size <= kSmallSize;
  Place place = best_fit(size, small);
  if (place.segment == segments_.end()) place = new_segment(segment_size(size), small);
  split(place, size);
  place.block->free = false;
  taken_.emplace(number, place);
}

void CachingAllocator::give_back(std::uint32_t number) {
  const auto found = taken_.find(number);
  LOCKSTEP_CHECK(found != taken_.end());
  const auto [segment, block] = found->second;
  taken_.erase(found);
  block->free = true;
  if (const auto next = std::next(block); next != segment->blocks.end() && next->free) {
    block->size += next->size;
    segment->blocks.erase(next);
  }
  if (block == segment->blocks.begin() || !std::prev(block)->free) return;
  std::prev(block)->size += block->size;
  segment->blocks.erase(block);
}

CachingAllocator::Place CachingAllocator::best_fit(std::int64_t size, bool small) {
  Place best{segments_.end(), {}};
  for (auto segment = segments_.begin(); segment != segments_.end(); ++segment) {
    if (segment->small != small) continue;
    for (auto block = segment->blocks.begin(); block != segment->blocks.end(); ++block) {
      const bool fits = block->free && block->size >= size;
      if (fits && (best.segment == segments_.end() || block->size < best.block->size))
        best = {segment, block};
    }
  }
  return best;
}

CachingAllocator::Place CachingAllocator::new_segment(std::int64_t size, bool small) {
  if (capacity_ > 0 && reserved_ + size > capacity_) release_free_segments();
  reserved_ += size;
  most_ = std::max(most_, reserved_);
  segments_.push_back({small, {{size, true}}});
  const auto segment = std::prev(segments_.end());
  return {segment, segment->blocks.begin()};
}

void CachingAllocator::release_free_segments() {
  for (auto segment = segments_.begin(); segment != segments_.end();) {
    const bool unused = segment->blocks.size() == 1 && segment->blocks.front().free;
    if (unused) reserved_ -= segment->blocks.front().size;
    segment = unused ? segments_.erase(segment) : std::next(segment);
  }
}

void CachingAllocator::split(const Place& place, std::int64_t size) {
  const std::int64_t left = place.block->size - size;
  const bool splits = place.segment->small ? left >= kMinBlockSize : left > kSmallSize;
  if (!splits) return;
  place.block->size = size;
  place.segment->blocks.insert(std::next(place.block), {left, true});
}

}  // namespace lockstep
