#include "strategies/collectives/sizing.hpp"

#include <doctest/doctest.h>

using namespace lockstep;

TEST_CASE("a message is cut into whole elements and equal blocks") {
  const ElementType& floats = *find_element_type("float");
  // 4099 B are 1024 floats and 3 bytes nobody sends; 3 blocks of ceil(1024 / 3) = 342 floats.
  const MessageLayout layout = divide_message(Bytes{4099}, floats, 3);
  CHECK(layout.count == 1024);
  CHECK(layout.size == 4096_B);
  CHECK(layout.block == Bytes{342 * 4});
  CHECK(layout.padded == Bytes{3 * 342 * 4});
  // 8 bytes over 64 ranks: a block is still one element.
  CHECK(divide_message(8_B, floats, 64).padded == 256_B);
  CHECK(divide_message(0_B, floats, 64).block == 0_B);
  CHECK(divide_message(3_B, floats, 1).count == 0);
}

TEST_CASE("element types are those of nccl-tests") {
  CHECK(element_types().size() == 10);
  CHECK(find_element_type("half")->size == 2_B);
  CHECK(find_element_type("bfloat16")->size == 2_B);
  CHECK(find_element_type("double")->size == 8_B);
  CHECK(find_element_type("int8")->size == 1_B);
  CHECK(find_element_type("Float") == nullptr);
}

TEST_CASE("bandwidths are those of nccl-tests") {
  // 8 x A100, 32 MiB all-reduce in 379.5 us: busbw 154.7 GB/s (microsoft/msccl-leaderboard
  // a8530e1, data/1xNDv4/Allreduce-inplace/nccl.txt).
  const auto algbw = algbw_gb_per_s(32_MiB, Duration::picoseconds(379'500'000));
  REQUIRE(algbw.has_value());
  CHECK(*algbw == doctest::Approx(88.42).epsilon(1e-4));
  CHECK(*algbw * bus_factor(Collective::all_reduce, 8) == doctest::Approx(154.7).epsilon(1e-3));
  CHECK(bus_factor(Collective::all_gather, 8) == doctest::Approx(0.875));
  CHECK(bus_factor(Collective::broadcast, 8) == 1.0);
  CHECK(bus_factor(Collective::all_reduce, 1) == 0.0);
  CHECK_FALSE(algbw_gb_per_s(1_B, Duration{}).has_value());
}
