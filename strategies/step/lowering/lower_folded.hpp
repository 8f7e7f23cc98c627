#pragma once

#include "strategies/step/lowering/lowering.hpp"

namespace lockstep {

/// lower_program() where ranks are folded: classes of a role follow one pattern of operations, and
/// have calls and messages of their own. `input.ranks` are the representatives of `input.fold`.
[[nodiscard]] LoweredProgram lower_folded(const LoweringInput& input);

}  // namespace lockstep
