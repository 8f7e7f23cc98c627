#include "sim/execute/device_kernels/values.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <limits>

using namespace lockstep;
using namespace lockstep::kernels;

namespace {

/// The nearest number with so many bits of significand, ties to even, by exact arithmetic in
/// double.
[[nodiscard]] double rounded(double value, int bits, int least_exponent) {
  if (value == 0) return 0;
  const int exponent = std::max(std::ilogb(value), least_exponent);
  const double step = std::ldexp(1.0, exponent - bits + 1);
  return std::nearbyint(value / step) * step;
}

}  // namespace

TEST_CASE("numbers of 16 bits are rounded to the nearest, ties to even, down to subnormal ones") {
  for (std::uint64_t i = 0; i < 20'000; ++i) {
    const double scale = std::ldexp(1.0, static_cast<int>(i % 40) - 28);
    const auto value = static_cast<float>(scattered({}, 7, i) * scale);
    CAPTURE(value);
    CHECK(double{from_bf16(to_bf16(value))} == rounded(double{value}, 8, -126));
    CHECK(double{from_fp16(to_fp16(value))} == rounded(double{value}, 11, -14));
  }
}

TEST_CASE("every number of 16 bits comes back as it was, NaN as NaN") {
  for (std::uint32_t i = 0; i < 0x10000U; ++i) {
    const auto bits = static_cast<std::uint16_t>(i);
    const float half = from_fp16(bits);
    if (std::isnan(half)) {
      CHECK(std::isnan(from_fp16(to_fp16(half))));
    } else {
      CHECK(to_fp16(half) == bits);
    }
    const float brain = from_bf16(bits);
    if (!std::isnan(brain)) CHECK(to_bf16(brain) == bits);
  }
  // The largest is 65504; half a step more is infinity (IEEE 754-2008, table 3.5).
  CHECK(from_fp16(to_fp16(65519.0F)) == 65504.0F);
  CHECK(std::isinf(from_fp16(to_fp16(65520.0F))));
}

TEST_CASE("numbers that buffers are filled with are never zero, in any precision") {
  for (std::uint64_t i = 0; i < 10'000; ++i) {
    const double value = scattered({}, 3, i);
    CHECK(std::abs(value) >= 0.0078125);
    CHECK(std::abs(value) <= 1);
    CHECK(from_bf16(to_bf16(static_cast<float>(value))) != 0);
    const double variance = scattered({0, 0.25}, 3, i);
    CHECK(variance >= 0.25 / 256);
    CHECK(variance < 0.25);
  }
}
