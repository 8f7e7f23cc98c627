#pragma once

#include "strategies/collectives/algorithm.hpp"

/// Send-receive algorithms used by other files; each is documented in its own file. The result is
/// in the output buffer.
namespace lockstep::send_recv {

/// Requires n >= 1, distance >= 0. Distances 0 and n are copies, for which there is no closed form.
[[nodiscard]] SchedulePtr make_shift(int n, int distance);
[[nodiscard]] std::optional<CollectiveCost> shift_cost(int n, int distance);

}  // namespace lockstep::send_recv
