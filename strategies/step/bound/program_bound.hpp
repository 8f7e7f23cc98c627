#pragma once

#include "strategies/step/bound/routine_bound.hpp"

namespace lockstep {

/// Lower bound on the simulated time of this program (strategies/step/simulate.hpp, fluid network,
/// all ranks at full speed): every stage's calls in order, each as long as its longest chain of
/// kernels and communication, and messages between stages, without competing traffic; communication
/// with hosts counts zero. Complexity: linear in the calls of all roles. Errors: none.
[[nodiscard]] Duration program_bound(const Program& program, const CostModel& cost,
                                     OperationBounds& bounds);

}  // namespace lockstep
