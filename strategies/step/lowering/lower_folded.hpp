#pragma once

#include "strategies/step/lowering/lowering.hpp"

namespace lockstep {

/// Like lower_program() for a folded step: classes of a role share one pattern of operations, with
/// calls and messages of their own. `input.ranks` are the representatives of `input.fold`.
[[nodiscard]] LoweredProgram lower_folded(const LoweringInput& input);

}  // namespace lockstep
