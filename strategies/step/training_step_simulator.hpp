#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "sim/cost/cost_model.hpp"
#include "sim/program/periods.hpp"
#include "sim/program/unroll.hpp"
#include "strategies/layout/parallel_config.hpp"
#include "strategies/step/lowering/collective_choice.hpp"
#include "strategies/step/simulate.hpp"
#include "strategies/step/simulated_cluster.hpp"

namespace lockstep {

/// What a search over layouts asks of a step.
struct TrainingStepOutcome {
  Duration step;
  Fidelity fidelity = Fidelity::all_ranks;  // never automatic
  /// On the device of the rank that needs the most (sim/trace/peak_memory.hpp); of a role that
  /// several simulated ranks play, the first counts.
  Bytes peak_memory;
};

/// Whether calls that repeat each other may be two that take turns (LoweringInput::calls_in_turn).
/// Not with Folding::off, the reference for steps that share work: there each use has its own call.
[[nodiscard]] bool calls_take_turns(const SimulationOptions& options, const Network& network);

/// Simulates training steps on one cluster one after another, each as simulate() does, and keeps
/// what they have in common: the network and the algorithms chosen for collectives.
/// Not for several threads at once: one for each, all with the same SimulatedCluster.
class TrainingStepSimulator {
 public:
  TrainingStepSimulator(std::shared_ptr<const SimulatedCluster> on, SimulationOptions options);

  /// `roles`: unroll() of the program. Errors: as simulate().
  [[nodiscard]] SimulatedTrainingStep simulate(std::shared_ptr<const Program> program,
                                               const RolePrograms& roles,
                                               const ParallelConfig& parallel,
                                               const CostModel& cost);
  /// The same step without timeline, loads of links and classes.
  [[nodiscard]] TrainingStepOutcome outcome(const Program& program, const RolePrograms& roles,
                                            const ParallelConfig& parallel, const CostModel& cost);
  /// Of the program that `shorter` is made from; `roles`: unroll() of the shorter program. None
  /// where its periods do not come to take equally long (sim/engine/periodic_replay.hpp), and where
  /// the whole program might be too large to simulate all ranks.
  [[nodiscard]] std::optional<TrainingStepOutcome> outcome(const ShortenedProgram& shorter,
                                                           const RolePrograms& roles,
                                                           const ParallelConfig& parallel,
                                                           const CostModel& cost);

 private:
  using Algorithms = std::map<std::string, std::string>;  // by group

  [[nodiscard]] CollectiveChoice& choice(bool has_hosts, const Algorithms& algorithms);

  std::shared_ptr<const SimulatedCluster> on_;
  SimulationOptions options_;
  std::map<std::pair<bool, Algorithms>, CollectiveChoice> choices_;  // by whether there are hosts
};

}  // namespace lockstep
