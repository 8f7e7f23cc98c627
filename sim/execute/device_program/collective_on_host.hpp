#pragma once

#include "sim/execute/device_program/collective_planner.hpp"

namespace lockstep::execution {

/// A collective by its meaning, all members at once, which the host does between copies.
template <class Real>
void plan_on_host(const CollectiveTensors<Real>& of, const CollectiveRoom& room);

}  // namespace lockstep::execution
