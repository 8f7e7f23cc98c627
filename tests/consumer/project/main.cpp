#include <cstdio>

#include "tools/app/collective/candidates.hpp"
#include "tools/app/collective/run_collective.hpp"
#include "tools/app/inputs/config_folder.hpp"
#include "tools/app/inputs/scenario_file.hpp"
#include "tools/app/step/run_step.hpp"

using namespace lockstep::literals;

int main() {
  lockstep::app::use_config_folder(CONFIGS);
  lockstep::app::CollectiveRequest collective;
  collective.cluster = {.cluster = "dgx-h100", .nodes = 2};
  add_candidates({.collectives = "all_reduce", .algorithms = "ring,auto:by=nccl"}, collective);
  collective.sizes = {1_MiB, 64_MiB};
  const lockstep::app::CollectiveReport report = run_collective(collective);
  for (std::size_t i = 0; i < report.rows.size(); ++i)
    std::printf("%s: %g s\n", report.candidates[i / 2].text().c_str(),
                report.rows[i].result.time.seconds());
  lockstep::app::TrainingStepRequest step{.file = lockstep::app::scenario_file("mlp-two-gpus")};
  const lockstep::app::TrainingStepResult done = run_step(step);
  std::printf("%s: %g s\n", done.scenario.name.c_str(), done.throughput.step_s);
  return report.rows.size() == 4 && done.throughput.step_s > 0 ? 0 : 1;
}
