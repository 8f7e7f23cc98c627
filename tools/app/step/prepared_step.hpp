#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/cost/cost_model.hpp"
#include "strategies/scenario/scenario.hpp"
#include "strategies/step/simulate.hpp"
#include "tools/app/step/metrics/rank_memory.hpp"
#include "tools/app/step/run_step.hpp"

namespace lockstep::app {

/// A scenario ready to be simulated.
struct PreparedTrainingStep {
  Scenario scenario;
  std::optional<MachineLinkUse> machine_links{};  // as in TrainingStepResult
  LinkEffects link_changes{};                     // the same
  std::unique_ptr<CostModel> cost{};
  std::shared_ptr<const Program> program{};
  RolePrograms roles{};  // of the program
  // Before the simulation, with operations in the order of their launch:
  Bytes peak{};                     // of the rank that needs the most
  std::optional<Bytes> capacity{};  // of a GPU; none: it does not say
  double margin = 0;                // as RankMemory has it

  [[nodiscard]] bool fits() const { return !capacity || peak <= *capacity; }
};

/// Reads the scenario, modifies its cluster as requested and builds its program. Throws
/// ConfigError, RequestError, Refusal.
[[nodiscard]] PreparedTrainingStep prepare_step(const TrainingStepRequest& request);

/// The scenario of a request with these overrides instead of its own, from its file or document.
[[nodiscard]] Scenario requested_scenario(const TrainingStepRequest& request,
                                          const std::vector<std::string>& overrides);

/// The options of a simulation that follow from the scenario: NCCL's version, the host's memory and
/// its link, next to those of the request.
[[nodiscard]] SimulationOptions simulation_options(const TrainingStepRequest& request,
                                                   const Scenario& scenario);

/// Throws DoesNotFit if a GPU has too little memory, unless the request or the scenario ignores
/// memory.
void check_memory(const TrainingStepRequest& request, const PreparedTrainingStep& prepared);
void check_memory(const TrainingStepRequest& request, const Scenario& scenario,
                  const RankMemory& memory);

/// Throws Refusal for a deadlock and for steps that are too large.
[[nodiscard]] SimulatedTrainingStep simulate_step(const TrainingStepRequest& request,
                                                  const PreparedTrainingStep& prepared);
/// The same for another program of the same scenario.
[[nodiscard]] SimulatedTrainingStep simulate_step(const TrainingStepRequest& request,
                                                  const PreparedTrainingStep& prepared,
                                                  const ParallelConfig& parallel,
                                                  const std::shared_ptr<const Program>& program,
                                                  const RolePrograms& roles);

}  // namespace lockstep::app
