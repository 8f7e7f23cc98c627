#include "sim/trace/memory/caching_allocator.hpp"

#include <doctest/doctest.h>

#include "sim/base/check.hpp"

using namespace lockstep;

// Sizes of segments: c10/cuda/CUDACachingAllocator.cpp, get_allocation_size.
TEST_CASE("segments are 2 MiB for small blocks, 20 MiB for middling ones, else as large as asked") {
  CachingAllocator allocator;
  allocator.take(0, 1_KiB);
  CHECK(allocator.reserved() == 2_MiB);
  allocator.take(1, 1_MiB);  // 1 KiB is gone from the first
  CHECK(allocator.reserved() == 2_MiB);
  allocator.take(2, 1_MiB);
  CHECK(allocator.reserved() == 4_MiB);
  allocator.take(3, 3_MiB);
  CHECK(allocator.reserved() == 24_MiB);
  allocator.take(4, 9_MiB);  // of the 17 that are left
  CHECK(allocator.reserved() == 24_MiB);
  allocator.take(5, 31_MiB);
  CHECK(allocator.reserved() == 56_MiB);
}

TEST_CASE("what is given back is used again, split and merged") {
  CachingAllocator allocator;
  allocator.take(0, 100_MiB);
  allocator.give_back(0);
  allocator.take(1, 40_MiB);
  allocator.take(2, 60_MiB);
  CHECK(allocator.reserved() == 100_MiB);
  allocator.give_back(2);
  allocator.give_back(1);
  allocator.take(3, 100_MiB);
  CHECK(allocator.reserved() == 100_MiB);
}

TEST_CASE("a hole that is too small is kept, until the device has no more") {
  for (const Bytes capacity : {Bytes{}, 150_MiB}) {
    CachingAllocator allocator{capacity};
    allocator.take(0, 40_MiB);
    allocator.give_back(0);
    allocator.take(1, 120_MiB);
    CHECK(allocator.reserved() == (capacity == Bytes{} ? 160_MiB : 120_MiB));
    CHECK(allocator.most_reserved() == allocator.reserved());
  }
}

TEST_CASE("the best fit is taken, not the first") {
  CachingAllocator allocator;
  allocator.take(0, 100_MiB);
  allocator.take(1, 50_MiB);
  allocator.give_back(0);
  allocator.give_back(1);
  allocator.take(2, 50_MiB);
  allocator.take(3, 100_MiB);
  CHECK(allocator.reserved() == 150_MiB);
}

TEST_CASE("a number is taken once") {
  CachingAllocator allocator;
  allocator.take(7, 1_MiB);
  CHECK_THROWS_AS(allocator.take(7, 1_MiB), InternalError);
  CHECK_THROWS_AS(allocator.give_back(8), InternalError);
}
