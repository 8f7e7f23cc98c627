#include "tools/app/step/simulate_step.hpp"

#include "tools/app/errors.hpp"

namespace lockstep::app {

SimulatedTrainingStep simulate_step(const PreparedTrainingStep& prepared,
                                    const ParallelConfig& parallel,
                                    const std::shared_ptr<const Program>& program,
                                    const RolePrograms& roles) {
  const ScenarioCluster& cluster = prepared.scenario.cluster;
  try {
    return simulate(program, roles, parallel, cluster.cluster, cluster.device, *prepared.cost,
                    prepared.options);
  } catch (const ProgramStuck& stuck) {
    throw Refusal(stuck.what());
  }
}

SimulatedTrainingStep simulate_step(const PreparedTrainingStep& prepared) {
  return simulate_step(prepared, prepared.scenario.parallel, prepared.program, prepared.roles);
}

}  // namespace lockstep::app
