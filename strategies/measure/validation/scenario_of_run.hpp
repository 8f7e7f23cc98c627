#pragma once

#include <filesystem>

#include "strategies/measure/validation/measured.hpp"
#include "strategies/scenario/scenario.hpp"

namespace lockstep {

/// The scenario that a measured run says, from its row alone, as a file would hold it: its cluster,
/// model and parallel; dropout and the stack by stack_rule.hpp unless `stack` names one (`configs`
/// has the devices that the rules look at); memory is
/// not enforced (the run did run). Layers that pp * vpp does not divide and of which the row says
/// nothing more are cut as evenly as it goes, the embedding and the head counted as a layer each,
/// longer parts first (DeepSpeed runtime/pipe/module.py, partition_method
/// "type:transformer|embedding").
[[nodiscard]] JsonDocument scenario_document(const MeasuredRun& run,
                                             const std::filesystem::path& configs,
                                             const std::string& stack = {});

/// The same, read. Throws ConfigError, with places in the file of the run, where it cannot be
/// modelled.
[[nodiscard]] Scenario scenario_of(const MeasuredRun& run, const std::filesystem::path& configs,
                                   const std::string& stack = {});

}  // namespace lockstep
