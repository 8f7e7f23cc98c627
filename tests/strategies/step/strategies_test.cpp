#include <doctest/doctest.h>

#include <filesystem>

#include "sim/execute/command_graph/host_backend.hpp"
#include "sim/execute/command_graph/open_backend.hpp"
#include "strategies/scenario/scenario.hpp"
#include "strategies/verification/shrink/shrink.hpp"
#include "strategies/verification/verify_strategy.hpp"

/// Strategies as layouts for devices, run on this machine's memory and held against one device that
/// the reference executor is; the bounds are DEFINITIONS': 1e-10 in float64, 1e-5 in float32.
namespace lockstep {
namespace {

const std::string kConfigs = LOCKSTEP_SOURCE_DIR "/configs";

std::vector<std::filesystem::path> scenario_files() {
  std::vector<std::filesystem::path> out;
  for (const auto& entry : std::filesystem::directory_iterator{kConfigs + "/scenarios"}) {
    if (entry.path().extension() == ".json") out.push_back(entry.path());
  }
  return out;
}

VerificationReport verified(const std::filesystem::path& file, Backend& device, int devices,
                            bool float32) {
  const Scenario scenario = load_scenario(file, {}, kConfigs);
  ShrinkLimits limits;
  limits.ranks = 16;
  const ShrunkLayout layout =
      shrink(scenario.model, scenario.parallel, scenario.cluster.cluster.gpus_per_node(), limits);
  VerificationOptions options;
  options.steps = 2;
  options.device = &device;
  options.devices = devices;
  options.float32 = float32;
  return verify_strategy(layout.model, layout.parallel, layout.gpus_per_node, options);
}

TEST_CASE("every shipped scenario trains as one device does when devices run its layout") {
  // In the order of issue; then in one that events alone hold together, on two devices.
  for (const std::uint64_t order : {std::uint64_t{0}, std::uint64_t{5}}) {
    const auto device = host_backend(order);
    for (const auto& file : scenario_files()) {
      CAPTURE(file);
      CAPTURE(order);
      const VerificationReport report = verified(file, *device, order == 0 ? 1 : 2, order != 0);
      CHECK_MESSAGE(report.problem().empty(), report.problem());
    }
  }
}

}  // namespace
}  // namespace lockstep
