#include <doctest/doctest.h>

#include <string>

#include "tests/strategies/step/shown/shown_scenario.hpp"

/// TSM-ResNet-50 on Kinetics-400, on 1 to 256 nodes of Summit with six V100 each. Measured: Lin,
/// Gan and Han, Training Kinetics in 15 Minutes, arXiv 1910.00932.
namespace lockstep::test {
namespace {

constexpr double kMeasuredOn6 = 49 * 3600.0 + 55 * 60;
constexpr double kMeasuredOn1536 = 14 * 60.0 + 13;

[[nodiscard]] Shown on_nodes(int nodes) {
  return Shown("kinetics-summit", {"cluster.nodes=" + std::to_string(nodes)});
}

}  // namespace

TEST_CASE("kinetics-summit: 8 clips of 8 frames on each of 6 to 1,536 V100") {
  const Scenario large = shipped_scenario("kinetics-summit");
  CHECK(large.parallel.ranks() == 1536);
  CHECK(large.parallel.global_batch == 12288);
  CHECK(std::get<ResNetConfig>(large.model.shape).frames == 8);
  const Scenario small = shipped_scenario("kinetics-summit", {"cluster.nodes=1"});
  CHECK(small.parallel.ranks() == 6);
  CHECK(small.parallel.global_batch == 48);
}

TEST_CASE("kinetics-summit: the speed-up of 256 nodes against the measured 211") {
  // 256 times as many clips a step: no more than 256.
  const double small = on_nodes(1).training_s();
  const double large = on_nodes(256).training_s();
  const double speed_up = small / large;
  const double measured = kMeasuredOn6 / kMeasuredOn1536;
  CHECK(within(measured, 211, 0.003));
  CHECK(speed_up < 256);
  CHECK(within(speed_up, measured, 0.25));
  // Both times are below the measured ones, in which videos are read and decoded and frames
  // augmented by the CPUs. Neither is simulated: of a measured step of 359 ms on six GPUs (49 h 55
  // min over 24e6 / 48 steps) the convolutions and what is between them take some 230.
  CHECK(small < kMeasuredOn6);
  CHECK(large < kMeasuredOn1536);
  CHECK(small > 0.5 * kMeasuredOn6);
  CHECK(large > 0.5 * kMeasuredOn1536);
}

TEST_CASE("kinetics-summit: more nodes, less efficiency") {
  const double one = on_nodes(1).samples_per_s();
  double last = 1;
  for (const int nodes : {4, 16, 64, 256}) {
    CAPTURE(nodes);
    const double efficiency = on_nodes(nodes).samples_per_s() / (one * nodes);
    CHECK(efficiency < 1);
    CHECK(efficiency < 1.01 * last);  // another algorithm may suit another number better
    last = efficiency;
  }
  // What is lost is communication: 97 MB of gradients, whose last bucket nothing hides.
  CHECK(last > 0.8);
}

}  // namespace lockstep::test
