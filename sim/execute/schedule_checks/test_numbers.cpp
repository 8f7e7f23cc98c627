#include "sim/execute/schedule_checks/test_numbers.hpp"

#include <algorithm>
#include <cmath>

#include "sim/base/hash.hpp"

namespace lockstep {
TestNumbers::TestNumbers(std::uint64_t seed, int ranks, bool whole, int significand)
    // Single precision (24 bits) holds every whole number up to 2^24.
    : seed_{splitmix64(seed)},
      range_{std::clamp<std::uint64_t>(
          (std::uint64_t{1} << static_cast<unsigned>(significand)) / static_cast<unsigned>(ranks),
          1, 1024)},
      whole_{whole},
      significand_{significand} {}

float TestNumbers::at(int rank, std::int64_t element) const {
  const std::uint64_t bits = splitmix64(splitmix64(seed_ ^ static_cast<std::uint64_t>(rank)) +
                                        static_cast<std::uint64_t>(element));
  if (whole_) return static_cast<float>(1 + bits % range_);
  if (significand_ < 24) {  // a multiple of the finest step that numbers near 1 have
    const double steps = std::ldexp(1.0, significand_ - 1);
    return static_cast<float>(
        std::floor(static_cast<double>(bits >> 11U) * 0x1p-52 * steps) / steps - 1);
  }
  return static_cast<float>(static_cast<double>(bits >> 11U) * 0x1p-52 - 1);
}

}  // namespace lockstep
