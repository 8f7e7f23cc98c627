#include "sim/base/units.hpp"

#include <doctest/doctest.h>

#include <stdexcept>

using namespace lockstep;

TEST_CASE("time on a link is bytes over rate to the nearest picosecond") {
  // 8 MiB over 50 GB/s: 8388608 B / 50e9 B/s = 167.77216 us exactly.
  CHECK(8_MiB / 50_GBps == Duration::picoseconds(167'772'160));
  // 1 B over 3 B/s is 333333333333.33 ps, 2 B 666666666666.67 ps.
  CHECK(1_B / Rate::bytes_per_second(3) == Duration::picoseconds(333'333'333'333));
  CHECK(2_B / Rate::bytes_per_second(3) == Duration::picoseconds(666'666'666'667));
  CHECK(400_Gbps == 50_GBps);
}

TEST_CASE("text forms are exact and strict") {
  CHECK(*parse_rate("400 Gb/s") == 50_GBps);
  CHECK(*parse_rate("50GB/s") == 50_GBps);
  CHECK(*parse_rate("0.5 GiB/s") == Rate::bytes_per_second(1ULL << 29U));
  CHECK(*parse_duration("0.3 us") == 300_ns);
  CHECK(*parse_bytes("80 GiB") == 80_GiB);
  CHECK(parse_flop_rate("989.4 TFLOP/s")->per_second() == 989.4e12);
  for (const char* bad :
       {"", "50", "50 GBs", "-1 GB/s", "0 GB/s", "nan GB/s", "1e9 B/s", "50  GB/s", "50 GB/s ",
        ".5 GB/s", "5. GB/s", "9999999999999 TB/s", "inf B/s"}) {
    CAPTURE(bad);
    CHECK_FALSE(parse_rate(bad).has_value());
  }
  CHECK_FALSE(parse_duration("0.1 ps").has_value());  // would silently become zero
  CHECK_FALSE(parse_duration("200000 h").has_value());
}

TEST_CASE("what does not fit throws instead of wrapping round") {
  CHECK_THROWS_AS(Duration::picoseconds(INT64_MAX) + 1_ps, OutOfRange);
  CHECK_THROWS_AS(Bytes{-1}, OutOfRange);
  CHECK_THROWS_AS(Bytes{INT64_MAX} * 2, OutOfRange);
  CHECK_THROWS_AS((void)Rate::bytes_per_second(0), OutOfRange);
  CHECK_THROWS_AS(1_B - 2_B, OutOfRange);
}

TEST_CASE("quantities print short, with their unit") {
  CHECK(to_string(64_MiB) == "64 MiB");
  CHECK(to_string(8_B) == "8 B");
  CHECK(to_string(2376810_ns) == "2.377 ms");
  CHECK(to_string(50_GBps) == "50 GB/s");
}
