#pragma once

#include <optional>
#include <string>

#include "strategies/layout/parallel_config.hpp"

/// What speaks against a layout's traffic of experts, in one sentence; none: nothing.
namespace lockstep {

/// Of Overlap::ep_pairs.
[[nodiscard]] std::optional<std::string> pairs_problem(const ParallelConfig& of);
/// Of ParallelConfig::dispatcher.
[[nodiscard]] std::optional<std::string> dispatcher_problem(const ParallelConfig& of);

/// Why a value that is not the default has no effect.
[[nodiscard]] std::optional<std::string> idle_dispatcher(const ParallelConfig& of);
/// Of delay_wgrad_compute.
[[nodiscard]] std::optional<std::string> delay_problem(const ParallelConfig& of);
[[nodiscard]] std::optional<std::string> idle_delay(const ParallelConfig& of);
[[nodiscard]] std::optional<std::string> idle_dispatch_sms(const ParallelConfig& of);

}  // namespace lockstep
