#include "sim/cost/scaled_rates.hpp"

#include <doctest/doctest.h>

#include <memory>

#include "sim/cost/sustained.hpp"
#include "tests/sim/cost/plain_device.hpp"

using namespace lockstep;

TEST_CASE("kernels of a class take their time over its factor, others take theirs") {
  KernelRateFactors rates;
  rates.fill(1);
  rates.at(static_cast<std::size_t>(OperationClass::matmul)) = 4;
  const ScaledRates device{std::make_unique<SustainedRate>(FlopRate{1e12}), rates, 1};
  Kernel kernel = gemm_kernel(1, 1, 1);
  kernel.flops = 2e12;
  CHECK(device.time(kernel).seconds() == 0.5);
  kernel.of = OperationClass::attention;
  CHECK(device.time(kernel).seconds() == 2);
  CHECK(device.host_time(kernel) == Duration{});
  CHECK(device.slowdown_while_communicating() == 1);
  CHECK(device.basis(kernel).value == "the sustained rate of the scenario");
  kernel.of = OperationClass::matmul;
  CHECK(device.basis(kernel).value == "scaled rates of kernels");
}
