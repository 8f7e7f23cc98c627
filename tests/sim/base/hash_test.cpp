#include "sim/base/hash.hpp"

#include <doctest/doctest.h>

namespace lockstep {

// The first three numbers of java.util.SplittableRandom with seed 0, which the authors of
// SplitMix64 wrote; also what Vigna's splitmix64.c prints for x = 0.
TEST_CASE("splitmix64 draws the published sequence") {
  CHECK(splitmix64(0) == 0xe220a8397b1dcdafU);
  CHECK(splitmix64(kGoldenGamma) == 0x6e789e6aa1b965f4U);
  CHECK(splitmix64(2 * kGoldenGamma) == 0x06c45d188009454fU);
}

}  // namespace lockstep
