#pragma once

#include <optional>

#include "sim/execute/host/kernels/kernels.hpp"
#include "sim/program/program.hpp"

namespace lockstep {

/// How the ranks of a program drop tokens that their experts have no room for: of the tokens that
/// one rank sends out, an expert takes as many as the slots say. None: no experts.
[[nodiscard]] std::optional<DroppingRule> dropping_rule(const Program& program);

}  // namespace lockstep
