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

TEST_CASE("hsdp-two-sites: the fp32 gradient crosses the WAN once each way") {
  const Shown shown("hsdp-two-sites");
  // Every GPU all-reduces its 1/32 with its counterpart, which sends it half, twice: 4 N bytes of
  // all 32 of a site together. Shards and blocks are rounded up to whole elements.
  const double gradients = 4 * parameters(shown);
  CHECK(within(static_cast<double>(shown.link_bytes(kWan)), gradients, 1e-4));
  CHECK(within(static_cast<double>(shown.link_bytes("core1 -> core0")), gradients, 1e-4));
  // No step is faster than that, and backward hides some of it at most.
  CHECK(shown.step_s() > gradients / kWanRate + 2 * kWanLatency);
  // As FSDP2 does unless it is told otherwise: once a microbatch, of which there are 8.
  const Shown every("hsdp-two-sites", {"parallel.reduce_replicas=every_microbatch"});
  CHECK(within(static_cast<double>(every.link_bytes(kWan)), 8 * gradients, 1e-4));
  CHECK(every.step_s() > 8 * gradients / kWanRate);
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

TEST_CASE("diloco-two-sites: an outer step sends 4 N bytes each way, and other steps nothing") {
  const Shown shown("diloco-two-sites");
  const double moved = 4 * parameters(shown);
  CHECK(within(static_cast<double>(shown.link_bytes(kWan)), moved, 1e-4));
  // All of it after the step: 32 GPUs of a site share the link, each in a ring of two.
  CHECK(shown.exposed_s("outer") > moved / kWanRate);
  CHECK(shown.exposed_s("outer") < 1.05 * moved / kWanRate + 4 * kWanLatency);
  const Shown quarter("diloco-two-sites", {"parallel.fragments=4"});
  // Positions 0, 4, ... of 34: the embedding, 8 layers.
  CHECK(static_cast<double>(quarter.link_bytes(kWan)) < 0.3 * moved);
  CHECK(static_cast<double>(quarter.link_bytes(kWan)) > 0.2 * moved);
}

TEST_CASE("diloco-two-sites: an outer copy on hosts is 4 bytes per parameter less on devices") {
  const Shown on_device("diloco-two-sites");
  const Shown on_host("diloco-two-sites", {"parallel.outer_on_host=true"});
  // In shards over the 32 GPUs of a site.
  const auto saved = static_cast<double>(on_device.peak_bytes() - on_host.peak_bytes());
  CHECK(within(saved, 4 * parameters(on_device) / 32, 0.02));
}

TEST_CASE("diloco-two-sites: during a step, a fragment is hidden but for what is longer") {
  const std::string overlap = R"(parallel.overlap=["dp_gradients", "dp_parameters"])";
  const std::string hidden = R"(parallel.overlap=["dp_gradients", "dp_parameters", "outer"])";
  const Shown waits("diloco-two-sites", {"parallel.fragments=4", overlap});
  const Shown travels("diloco-two-sites", {"parallel.fragments=4", hidden});
  CHECK(travels.link_bytes(kWan) == waits.link_bytes(kWan));
  const double of_fragment = static_cast<double>(waits.link_bytes(kWan)) / kWanRate;
  // Less what kernels are slower next to communication (configs/kernels/hopper.json).
  CHECK(waits.step_s() - travels.step_s() > 0.8 * of_fragment);
  CHECK(travels.exposed_s("outer") < 0.02 * of_fragment);
}

}  // namespace lockstep::test
