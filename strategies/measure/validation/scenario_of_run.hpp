#pragma once

#include <filesystem>

#include "strategies/measure/validation/measured.hpp"
#include "strategies/scenario/scenario.hpp"

namespace lockstep {

/// The scenario of a measured run as a document: its cluster, model and parallel layout; dropout
/// and software stack by stack_rule.hpp unless `stack` names one. `configs`: contains the devices.
/// Memory limits are not enforced, since the run did run. Layers not divisible by pp * vpp are
/// distributed as evenly as possible unless the row specifies more: embedding and head count as one
/// layer each, longer stages come first (DeepSpeed runtime/pipe/module.py, partition_method
/// "type:transformer|embedding").
[[nodiscard]] JsonDocument scenario_document(const MeasuredRun& run,
                                             const std::filesystem::path& configs,
                                             const std::string& stack = {});

/// The same as a Scenario. Throws ConfigError, positioned in the run's file, if it cannot be
/// modeled.
[[nodiscard]] Scenario scenario_of(const MeasuredRun& run, const std::filesystem::path& configs,
                                   const std::string& stack = {});

}  // namespace lockstep
