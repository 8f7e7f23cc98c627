#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tools/app/jobs/placement.hpp"

namespace lockstep::cli {

/// "packed".
[[nodiscard]] std::string_view policy_name(app::PlacementPolicy policy);
/// "0-7,16-23".
[[nodiscard]] std::string gpu_ranges(const std::vector<EndpointId>& gpus);

}  // namespace lockstep::cli
