#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/strategies/step/shown/shown_scenario.hpp"

/// What holds for every scenario that ships.
namespace lockstep::test {
namespace {

/// All that ship; scenarios_test.cpp says which those must be.
[[nodiscard]] std::vector<std::string> scenarios() {
  return device_ids(LOCKSTEP_SOURCE_DIR "/configs/scenarios");
}

/// The largest part of the step that a link was busy.
[[nodiscard]] double busiest(const Shown& shown) {
  const Cluster& cluster = shown.scenario().cluster.cluster;
  double most = 0;
  for (std::size_t i = 0; i < cluster.link_count() && i < shown.timeline().link_bytes.size(); ++i) {
    const double rate = cluster.link(static_cast<LinkId>(i)).figures.carried().bytes_per_second();
    const auto bytes = static_cast<double>(shown.timeline().link_bytes[i].count());
    most = std::max(most, bytes / rate / shown.step_s());
  }
  return most;
}

/// All of the busiest rank's time is accounted for, and no GPU beats its peak.
void check_time(const Shown& shown) {
  const Breakdown& worst = shown.summary().busiest;
  CHECK(worst.total() == shown.summary().step);
  for (const auto& [group, exposed] : worst.exposed) {
    CAPTURE(group);
    CHECK(exposed <= shown.traffic(group).transfer);
  }
  // fp16 is the fastest that any of them computes in on its device.
  const auto peak = shown.scenario().cluster.device.peak(Precision::kFp16);
  REQUIRE(peak);
  CHECK(shown.model_flops_per_gpu_per_s() < 0.8 * peak->per_second());
}

/// All fit but those that are there to show that they do not.
void check_memory(const Shown& shown, const std::string& name) {
  const bool too_large = name == "gpt3-a100-memory" || name == "gpt3-v100" || name == "zero-7b5-0";
  CHECK((shown.peak_bytes() <= shown.gpu_bytes()) == !too_large);
}

}  // namespace

TEST_CASE("scenarios: time, memory, GPUs and links of all of them are possible") {
  for (const std::string& name : scenarios()) {
    CAPTURE(name);
    const Shown shown(name);
    check_time(shown);
    check_memory(shown, name);
    // Representatives' groups are replayed apart: each may take all of a link that others need too.
    if (shown.fidelity() == Fidelity::all_ranks) CHECK(busiest(shown) <= 1.0);
  }
}

}  // namespace lockstep::test
