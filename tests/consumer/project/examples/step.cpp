// What a training step takes, and the memory of the rank that needs the most.
#include <cstdio>

#include "tools/app/inputs/config_folder.hpp"
#include "tools/app/inputs/scenario_file.hpp"
#include "tools/app/step/run_step.hpp"

int main() {
  lockstep::app::use_config_folder(CONFIGS);
  lockstep::app::TrainingStepRequest request{.file = lockstep::app::scenario_file("pipeline-1f1b")};
  request.overrides = {"parallel.vpp=1"};
  const lockstep::app::TrainingStepResult result = run_step(request);
  std::printf("%.17g\n", result.throughput.step_s);
}
