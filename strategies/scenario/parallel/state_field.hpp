#pragma once

#include "strategies/scenario/parallel/parallel_fields.hpp"

namespace lockstep {

/// `state`: precision of model states, and the optimizer.
[[nodiscard]] ParallelField state_field();

}  // namespace lockstep
