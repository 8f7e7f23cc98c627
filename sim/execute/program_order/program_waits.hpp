#pragma once

#include <string>

#include "sim/execute/program/execution_state.hpp"

namespace lockstep::execution {

/// The cause of a deadlock: a wait that can never be satisfied, else a shortest wait cycle:
/// "rank 0: layer 0 microbatch 1: get.y (stream pp) waits for a message from rank 1 <- rank 1: ...
/// <- rank 0: layer 0 microbatch 1: get.y; 3 other operations wait too".
[[nodiscard]] std::string waits_text(const ExecutionState& state);

}  // namespace lockstep::execution
