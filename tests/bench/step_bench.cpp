#include <fmt/format.h>
#include <sys/resource.h>

#include <cstdlib>
#include <ctime>
#include <string>

#include "strategies/scenario/scenario.hpp"
#include "strategies/stacks/cost_of.hpp"
#include "strategies/step/build_program.hpp"
#include "strategies/step/simulate.hpp"
#include "tools/lockstep/malloc_tuning.hpp"

/// Times the step of a scenario with all ranks, folded, from reading its files on, and the peak
/// memory of the process: lockstep_step_bench CONFIGS SCENARIO [RANK SPEED].
namespace lockstep {
namespace {

void run(const std::string& configs, const std::string& name, const RankSpeeds& speeds) {
  const std::clock_t begin = std::clock();
  const Scenario scenario = load_scenario(configs + "/scenarios/" + name + ".json", {}, configs);
  const Cluster& cluster = scenario.cluster.cluster;
  const Device& device = scenario.cluster.device;
  const auto cost = cost_model(device, scenario.stack, scenario.sustained, configs);
  const auto program = std::make_shared<const Program>(
      build_program(scenario.model, scenario.parallel, cluster.gpus_per_node()));
  SimulationOptions options;
  options.fidelity = Fidelity::automatic;
  options.speeds = speeds;
  options.nccl_tuning = configs + "/nccl/2.30.json";
  const SimulatedTrainingStep step =
      simulate(program, scenario.parallel, cluster, device, *cost, options);
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  fmt::print("| {}{} | {} | {:.2f} s | {} MiB | {} | {} | {:.6f} s |\n", name,
             speeds.empty() ? "" : ", a straggler", scenario.parallel.ranks(),
             static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC, usage.ru_maxrss / 1024,
             step.classes.size(), step.transfers, step.timeline.end.since_start().seconds());
}

}  // namespace
}  // namespace lockstep

int main(int argc, char** argv) {
  if (argc != 3 && argc != 5) return 2;
  lockstep::cli::tune_malloc();
  try {
    lockstep::RankSpeeds speeds;
    if (argc == 5) speeds[std::atoi(argv[3])].speed = std::atof(argv[4]);
    lockstep::run(argv[1], argv[2], speeds);
  } catch (const std::exception& error) {
    fmt::print("| {} | {} |\n", argv[2], error.what());
    return 1;
  }
  return 0;
}
