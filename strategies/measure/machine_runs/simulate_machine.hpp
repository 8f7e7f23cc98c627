#pragma once

#include "sim/execute/command_graph/command_graph.hpp"
#include "sim/program/program.hpp"
#include "strategies/measure/machine/measured_machine.hpp"

namespace lockstep {

/// What the simulator's engine makes of a command graph on devices of the machine that its ranks
/// share: the same streams, commands and waits. On a host one command after the other, each with
/// the time of its size; on GPUs side by side, sharing memory and links max-min fairly, each after
/// its latency. Errors: InternalError for command graphs with kernels, and for GPUs whose links
/// have not been measured.
[[nodiscard]] Duration simulate_layout(const CommandGraph& graph, const MachineFit& fit);

/// Likewise of what the first role of a program does, its kernels with the cost model's times, one
/// at a time.
[[nodiscard]] Duration simulate_program(const Program& program, const MachineFit& fit);

}  // namespace lockstep
