#include "tools/lockstep/jobs/placement_text.hpp"

#include <array>
#include <cstddef>

namespace lockstep::cli {

std::string_view policy_name(app::PlacementPolicy policy) {
  constexpr std::array<std::string_view, 4> kNames{"packed", "spread", "random", "listed"};
  return kNames.at(static_cast<std::size_t>(policy));
}

std::string gpu_ranges(const std::vector<EndpointId>& gpus) {
  std::string out;
  for (std::size_t i = 0; i < gpus.size();) {
    std::size_t last = i;
    while (last + 1 < gpus.size() && gpus[last + 1] == gpus[last] + 1) ++last;
    out += (out.empty() ? "" : ",") + std::to_string(gpus[i]);
    if (last > i) out += "-" + std::to_string(gpus[last]);
    i = last + 1;
  }
  return out;
}

}  // namespace lockstep::cli
