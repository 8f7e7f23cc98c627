#pragma once

#include "sim/execute/command_graph/command_graph.hpp"
#include "sim/program/program.hpp"
#include "strategies/calibration/measured_machine.hpp"

namespace lockstep {

/// Simulated time of a command graph on the machine, with the same streams, commands and
/// dependencies. On a host, commands run one after another; on GPUs concurrently, sharing memory
/// and links max-min fairly, each after its latency. Throws InternalError for command graphs with
/// kernels and for GPUs without measured links.
[[nodiscard]] Duration simulate_command_graph(const CommandGraph& graph, const MachineFit& fit);

/// Simulated time of the first role of a program: its kernels, one at a time.
[[nodiscard]] Duration simulate_program(const Program& program, const MachineFit& fit);

}  // namespace lockstep
