#include "sim/execute/host/schedule/test_numbers.hpp"

#include <algorithm>

namespace lockstep {
namespace {

/// splitmix64's finalizer (Steele, Lea and Flood 2014) over its own sequence.
std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31U);
}

}  // namespace

TestNumbers::TestNumbers(std::uint64_t seed, int ranks, bool whole)
    // Single precision holds every whole number up to 2^24.
    : seed_{mix(seed)},
      range_{std::clamp<std::uint64_t>((std::uint64_t{1} << 24U) / static_cast<unsigned>(ranks), 1,
                                       1024)},
      whole_{whole} {}

float TestNumbers::at(int rank, std::int64_t element) const {
  const std::uint64_t bits =
      mix(mix(seed_ ^ static_cast<std::uint64_t>(rank)) + static_cast<std::uint64_t>(element));
  if (whole_) return static_cast<float>(1 + bits % range_);
  return static_cast<float>(static_cast<double>(bits >> 11U) * 0x1p-52 - 1);
}

}  // namespace lockstep
