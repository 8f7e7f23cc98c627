#pragma once

#include <optional>

#include "strategies/measure/confidence/confidence.hpp"
#include "strategies/scenario/scenario.hpp"

namespace lockstep::app {

/// How the hardware of a step differs from that of its cluster file.
struct PerturbedHardware {
  bool gpus = false;          // some at another speed
  bool links = false;         // some at another bandwidth or latency
  bool failed_links = false;  // some without any
};

/// Confidence from configs/validation/residuals.json; none without the file or if the scenario
/// fixes the rate of computation. Throws ConfigError.
[[nodiscard]] std::optional<Confidence> run_confidence(const Scenario& scenario,
                                                       const PerturbedHardware& perturbed,
                                                       Duration step);

/// Margin of simulated peak memory from the same file, as RankMemory::margin; 0 without it. Throws
/// ConfigError.
[[nodiscard]] double peak_memory_margin();

}  // namespace lockstep::app
