#pragma once

#include <string>

#include "sim/trace/time_use.hpp"
#include "tools/figures/bar_figure.hpp"

namespace lockstep::cli {

/// The color of a group's communication, the same in every figure.
[[nodiscard]] std::string color_of_group(const std::string& group);

/// Name, color and pattern of a use of time, the same in every figure.
[[nodiscard]] figures::BarPart part_of(const TimeUse& use);

}  // namespace lockstep::cli
