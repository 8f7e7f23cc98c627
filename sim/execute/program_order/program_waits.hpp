#pragma once

#include <string>

#include "sim/execute/program/execution_state.hpp"

namespace lockstep::execution {

/// Why an execution in which nobody can go on cannot: one wait that nobody will ever answer, else a
/// shortest ring of waits, each for the next:
/// "rank 0: layer 0 microbatch 1: get.y (stream pp) waits for a message from rank 1 <- rank 1: ...
/// <- rank 0: layer 0 microbatch 1: get.y; 3 other operations wait too".
[[nodiscard]] std::string waits_text(const ExecutionState& state);

}  // namespace lockstep::execution
