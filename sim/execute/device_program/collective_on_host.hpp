#pragma once

#include "sim/execute/device_program/collective_commands.hpp"

namespace lockstep::execution {

/// Computes a collective directly on the host, for all members at once, between copies.
template <class Real>
void run_on_host(const CollectiveTensors<Real>& of, const CollectiveRoom& room);

}  // namespace lockstep::execution
