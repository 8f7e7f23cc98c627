#pragma once

#include "strategies/step/bound/routine_bound.hpp"

namespace lockstep {

/// A time that no simulation of this program beats (strategies/step/simulate.hpp, fluid network,
/// all ranks at full speed): every stage's calls in their order, each as long as its longest chain
/// of kernels and communications, and messages between stages, with nothing slowed by other
/// traffic. Takes a time in proportion to the calls of all roles.
/// Errors: none; communication with hosts takes no time.
[[nodiscard]] Duration program_bound(const Program& program, const CostModel& cost,
                                     OperationBounds& bounds);

}  // namespace lockstep
