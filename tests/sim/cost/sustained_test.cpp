#include "sim/cost/sustained.hpp"

#include <doctest/doctest.h>

#include <stdexcept>

#include "tests/sim/cost/plain_device.hpp"

using namespace lockstep;

TEST_CASE("a sustained rate does flops and nothing else") {
  const SustainedRate device{FlopRate{28e12}};
  Kernel kernel = gemm_kernel(1, 1, 1);
  kernel.flops = 14e12;
  kernel.moved_bytes = 1e15;
  CHECK(device.time(kernel).seconds() == 0.5);
  kernel.flops = 0;
  CHECK(device.time(kernel) == Duration{});
  CHECK(device.host_time(kernel) == Duration{});
  CHECK(device.slowdown_while_communicating() == 1);
}

TEST_CASE("times are rounded once, to the nearest picosecond") {
  const SustainedRate device{FlopRate{1e12}};
  Kernel kernel = gemm_kernel(1, 1, 1);
  kernel.flops = 2.4;
  CHECK(device.time(kernel).ps() == 2);
  kernel.flops = 2.5;
  CHECK(device.time(kernel).ps() == 3);
  kernel.flops = 1e30;
  CHECK_THROWS_AS((void)device.time(kernel), OutOfRange);
}
