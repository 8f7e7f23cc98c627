#include <doctest/doctest.h>

#include <string>

#include "strategies/models/count/count.hpp"
#include "tests/strategies/step/shown/shown_scenario.hpp"

/// Training over two sites of 32 GPUs, a WAN link of 100 Gb/s and 4.9 ms between them.
namespace lockstep::test {
namespace {

constexpr double kWanRate = 12.5e9;  // bytes per second, each way
constexpr double kWanLatency = 4.9e-3;
constexpr char kWan[] = "core0 -> core1";

[[nodiscard]] double parameters(const Shown& shown) {
  return static_cast<double>(count_parameters(shown.scenario().model).total());
}

}  // namespace

TEST_CASE("hsdp-two-sites: the bf16 gradient crosses the WAN once each way") {
  const Shown shown("hsdp-two-sites");
  // Every GPU all-reduces its 1/32 with its counterpart, which sends it half, twice: 2 N bytes of
  // all 32 of a site together. Shards and blocks are rounded up to whole elements.
  const double gradients = 2 * parameters(shown);
  CHECK(within(static_cast<double>(shown.link_bytes(kWan)), gradients, 1e-4));
  CHECK(within(static_cast<double>(shown.link_bytes("core1 -> core0")), gradients, 1e-4));
  // No step is faster than that, and backward hides some of it at most.
  CHECK(shown.step_s() > gradients / kWanRate + 2 * kWanLatency);
}

TEST_CASE("hsdp-two-sites: sharding over both sites gathers every layer over the WAN") {
  const Shown shown("hsdp-two-sites", {"parallel.shard_ranks=0"});
  const Shown hybrid("hsdp-two-sites");
  CHECK(shown.step_s() > 10 * hybrid.step_s());
  // Two gathers a microbatch and a reduction, of 8 microbatches: more than 2 N bytes each way of
  // each, in channels of rings that cross twice.
  CHECK(shown.link_bytes(kWan) > 8 * hybrid.link_bytes(kWan));
  CHECK(shown.peak_bytes() < hybrid.peak_bytes());
}

}  // namespace lockstep::test
