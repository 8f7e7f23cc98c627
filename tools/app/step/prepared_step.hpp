#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "sim/cost/cost_model.hpp"
#include "strategies/scenario/scenario.hpp"
#include "strategies/step/simulate.hpp"
#include "tools/app/step/metrics/rank_memory.hpp"
#include "tools/app/step/run_step.hpp"

namespace lockstep::app {

/// A scenario ready to be simulated: all that follows from a request, so that later phases do not
/// go back to it.
struct PreparedTrainingStep {
  Scenario scenario;
  std::optional<MachineLinkUse> machine_links{};  // as in TrainingStepResult
  LinkEffects link_changes{};                     // the same
  std::unique_ptr<CostModel> cost{};
  SimulationOptions options{};
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

/// The options of a simulation that follow from the scenario: NCCL's version, the host's memory and
/// its link, next to those of the request and `costs`, which override the shipped ones.
[[nodiscard]] SimulationOptions simulation_options(const TrainingStepRequest& request,
                                                   const Scenario& scenario,
                                                   std::vector<NcclCost> costs);

}  // namespace lockstep::app
