#include "strategies/step/simulate.hpp"

#include <utility>

#include "strategies/step/training_step_simulator.hpp"

namespace lockstep {

SimulatedTrainingStep simulate(std::shared_ptr<const Program> program, const RolePrograms& roles,
                               const ParallelConfig& parallel, const Cluster& cluster,
                               const Device& device, const CostModel& cost,
                               const SimulationOptions& options) {
  TrainingStepSimulator simulator{
      std::make_shared<const SimulatedCluster>(cluster, device, options), options};
  return simulator.simulate(std::move(program), roles, parallel, cost);
}

SimulatedTrainingStep simulate(std::shared_ptr<const Program> program,
                               const ParallelConfig& parallel, const Cluster& cluster,
                               const Device& device, const CostModel& cost,
                               const SimulationOptions& options) {
  const RolePrograms roles = unroll(*program);
  return simulate(std::move(program), roles, parallel, cluster, device, cost, options);
}

}  // namespace lockstep
