#pragma once

#include <optional>

#include "sim/execute/kernels/kernels.hpp"
#include "sim/program/program.hpp"

namespace lockstep {

/// How the ranks of a program drop tokens that their experts have no room for: of the tokens of a
/// microbatch that one rank sends out, an expert takes as many as the slots say. Samples are
/// counted through all microbatches of a step. None: no experts.
[[nodiscard]] std::optional<DroppingRule> dropping_rule(const Program& program);

}  // namespace lockstep
