// The step time of a pipeline with micro-batches of two sequences.
#include <cstdio>

#include "tools/app/inputs/config_folder.hpp"
#include "tools/app/sweep/sweep.hpp"

int main() {
  lockstep::app::use_config_folder(CONFIGS);
  lockstep::app::SweepRequest request;
  request.space = {.scenario = "pipeline-1f1b", .vary = {"micro_batch=2,4"}};
  request.on_point = [](const lockstep::app::SweepPoint& point) {
    std::printf("%.17g\n", point.step.result->throughput.step_s);
  };
  (void)sweep(request);
}
