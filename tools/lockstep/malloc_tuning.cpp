#include "tools/lockstep/malloc_tuning.hpp"

#include <malloc.h>

#include <cstdint>

namespace lockstep::cli {

void tune_malloc() {
  constexpr int kPiece = 64 << 20;
  // The largest threshold that glibc takes (malloc.c, HEAP_MAX_SIZE / 2).
  constexpr int kLargestThreshold = 32 << 20;
  mallopt(M_TOP_PAD, kPiece);
  mallopt(M_TRIM_THRESHOLD, INT32_MAX);
  mallopt(M_MMAP_THRESHOLD, kLargestThreshold);
}

}  // namespace lockstep::cli
