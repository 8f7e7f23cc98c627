// The step time of the best of two tensor-parallel degrees on one node, with its proof.
#include <cstdio>

#include "tools/app/inputs/config_folder.hpp"
#include "tools/app/plan/plan.hpp"

int main() {
  lockstep::app::use_config_folder(CONFIGS);
  lockstep::app::PlanRequest request;
  request.space = {.model = "llama3-8b",
                   .cluster = "dgx-h100",
                   .nodes = 1,
                   .global_batch = 16,
                   .vary = {"tp=2,4"},
                   .fix = {"pp=1", "overlap=none"}};
  request.top = 1;
  const lockstep::app::PlanResult found = plan(request);
  std::printf("%.17g\n", found.rows.at(0).step->throughput.step_s);
}
