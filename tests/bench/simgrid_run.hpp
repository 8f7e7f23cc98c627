#pragma once

#include "sim/network/network.hpp"
#include "sim/schedule/workload.hpp"

namespace lockstep {

struct SimgridRun {
  double end_s = 0;  // on the simulated clock
  double cpu_s = 0;  // taken by SimGrid's run, without making the platform
};

/// One collective in SimGrid, in a process of its own, since SimGrid's engine is one per process.
/// An actor per rank posts all receives and sends of a step at once and waits for them. All routes
/// that the schedule uses must have one path, and the same latency.
/// Throws std::runtime_error where that process fails.
[[nodiscard]] SimgridRun run_in_simgrid(const Network& network, const CollectiveCall& call);

}  // namespace lockstep
