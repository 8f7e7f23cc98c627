#pragma once

#include <cstdint>

#include "sim/execute/run_program/execute_program.hpp"
#include "strategies/verification/group_schedules.hpp"

namespace lockstep {

/// Makes replicas start equal: weights replicated on several ranks are kept on the lowest and
/// broadcast. Returns the number of ranks that received weights.
template <class Real>
int replicate(BasicProgramExecution<Real>& execution, GroupSchedules& schedules);

}  // namespace lockstep
