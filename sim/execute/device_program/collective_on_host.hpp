#pragma once

#include "sim/execute/device_program/collective_commands.hpp"

namespace lockstep::execution {

/// A collective by its meaning, all members at once, which the host does between copies.
template <class Real>
void run_on_host(const CollectiveTensors<Real>& of, const CollectiveRoom& room);

}  // namespace lockstep::execution
