#pragma once

#include "strategies/collectives/algorithm.hpp"

/// Functions of send-receive algorithms that other files use; each is described in the file of its
/// name. The result lies in the output buffer.
namespace lockstep::send_recv {

/// n >= 1, distance >= 0. A distance of n, or none, is a copy, for which there is no closed form.
[[nodiscard]] SchedulePtr make_shift(int n, int distance);
[[nodiscard]] std::optional<CollectiveCost> shift_cost(int n, int distance);

}  // namespace lockstep::send_recv
