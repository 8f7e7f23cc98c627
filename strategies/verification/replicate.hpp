#pragma once

#include <cstdint>

#include "sim/execute/run_program/execute_program.hpp"
#include "strategies/verification/group_schedules.hpp"

namespace lockstep {

/// Replicas begin as copies: what several ranks hold alike of weights is kept by the lowest of them
/// alone, and broadcast from there. Returns how many ranks got something.
template <class Real>
int replicate(BasicProgramExecution<Real>& execution, GroupSchedules& schedules);

}  // namespace lockstep
