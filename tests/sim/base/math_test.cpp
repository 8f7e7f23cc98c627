#include "sim/base/math.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>

namespace lockstep {

TEST_CASE("a quotient is rounded up, also where a + b - 1 would overflow") {
  CHECK(ceil_div(0, 4) == 0);
  CHECK(ceil_div(1, 4) == 1);
  CHECK(ceil_div(4, 4) == 1);
  CHECK(ceil_div(5, 4) == 2);
  // 2^63 - 1 is odd: half of it is 2^62 - 1/2, rounded up 2^62.
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  CHECK(ceil_div<std::int64_t>(most, 2) == std::int64_t{1} << 62);
  CHECK(ceil_div(most, most) == 1);
}

TEST_CASE("the next multiple of a unit") {
  CHECK(round_up(0, 512) == 0);
  CHECK(round_up(1, 512) == 512);
  CHECK(round_up(512, 512) == 512);
  CHECK(round_up(513, 512) == 1024);
}

}  // namespace lockstep
