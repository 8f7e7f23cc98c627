#pragma once

#include "sim/schedule/workload.hpp"

namespace lockstep {

/// The same stream with operations of its own instead of a shared pattern; its references to other
/// streams count from the first of the workload.
[[nodiscard]] Stream with_own_operations(const Stream& stream);

}  // namespace lockstep
