#include "tools/lockstep/step_figures/time_look.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace lockstep::cli {

std::string color_of_group(const std::string& group) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kColors = {
      {{"tp", "#3f8f6b"},
       {"pp", "#a63d7a"},
       {"dp", "#d1602a"},
       {"cp", "#8c6d31"},
       {"ep", "#f2a65a"},
       {"hsdp", "#e79b7d"}}};
  const auto found = std::find_if(kColors.begin(), kColors.end(),
                                  [&](const auto& each) { return each.first == group; });
  return std::string{found == kColors.end() ? "#c98fb5" : found->second};
}

figures::BarPart part_of(const TimeUse& use) {
  using figures::Pattern;
  switch (use.kind) {
    case TimeUse::Kind::computation:
      switch (use.of) {
        case OperationClass::matmul:
        case OperationClass::convolution:
          return {"GEMMs and convolutions", "#1f5fa8"};
        case OperationClass::attention:
          return {"attention", "#5f9bd6"};
        case OperationClass::optimizer:
          return {"optimizer", "#e8b04a", Pattern::dots};
        default:
          return {"other computation", "#b7d3ee"};
      }
    case TimeUse::Kind::communication:
      return {use.group + " communication", color_of_group(use.group), Pattern::stripes};
    case TimeUse::Kind::bubble:
      return {"pipeline bubble", "#f4f4f4", Pattern::dots};
    case TimeUse::Kind::issue:
      return {"kernel launches", "#666666", Pattern::grid};
    case TimeUse::Kind::waiting:
      break;
  }
  return {"waiting for other ranks", "#d0d0d0", Pattern::bars};
}

}  // namespace lockstep::cli
