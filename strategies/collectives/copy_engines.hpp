#pragma once

#include <optional>
#include <string>

#include "strategies/collectives/algorithm.hpp"

/// Collectives that the GPUs' copy engines execute: no multiprocessor takes part, and nothing is
/// reduced.
namespace lockstep {

/// NCCL takes copy engines where all ranks reach each other's memory over NVLink.
[[nodiscard]] std::optional<std::string> copy_engines_refusal(const AlgorithmInput& input);

namespace rows {

inline constexpr std::string_view kOneNvlinkDomain = "all ranks in one NVLink domain";
inline constexpr std::string_view kNcclCopyEngines =
    "NCCL 2.28 release notes: copy-engine collectives, NCCL_CTA_POLICY_ZERO";

}  // namespace rows
}  // namespace lockstep
