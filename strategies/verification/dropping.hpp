#pragma once

#include <optional>

#include "sim/execute/kernels/kernels.hpp"
#include "sim/program/program.hpp"

namespace lockstep {

/// How ranks drop tokens beyond their experts' capacity: of a microbatch's tokens from one rank, an
/// expert accepts as many as it has slots. Samples are numbered through all microbatches of a step.
/// None: no experts.
[[nodiscard]] std::optional<DroppingRule> dropping_rule(const Program& program);

}  // namespace lockstep
