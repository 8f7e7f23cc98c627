#pragma once

#include <memory>
#include <string>

#include "sim/cost/cost_model.hpp"
#include "sim/engine/replay.hpp"
#include "sim/program/timeline.hpp"
#include "strategies/parallel/parallel_config.hpp"
#include "topologies/cluster.hpp"
#include "topologies/config/device.hpp"

namespace lockstep {

/// How many ranks are simulated.
enum class Fidelity : std::uint8_t {
  automatic,        // all ranks where that is quick, else representatives
  all_ranks,        // every rank and every transfer on one network
  representatives,  // one rank per role; each communication is replayed with all its sister groups,
                    // but apart from other traffic
};

struct SimulationOptions {
  Fidelity fidelity = Fidelity::automatic;
  NetworkModel network = NetworkModel::fluid;
  std::string nccl_version = "2.30";
};

struct SimulatedStep {
  StepTimeline timeline;
  Fidelity fidelity = Fidelity::all_ranks;  // never automatic
  std::vector<std::string> algorithms{};    // "tp: all_reduce ring:channels=8, 64 MiB", for reports
};

/// Simulates one training step of a program on a cluster of `device`s.
/// Errors: Refusal-like InternalError never; a program that cannot end throws ProgramStuck.
[[nodiscard]] SimulatedStep simulate(std::shared_ptr<const Program> program,
                                     const ParallelConfig& parallel, const Cluster& cluster,
                                     const Device& device, const CostModel& cost,
                                     const SimulationOptions& options = {});

}  // namespace lockstep
