// Proof that a parallel strategy trains as one device does.
#include <cstdio>

#include "tools/app/inputs/config_folder.hpp"
#include "tools/app/inputs/scenario_file.hpp"
#include "tools/app/verify/strategy_run.hpp"

int main() {
  lockstep::app::use_config_folder(CONFIGS);
  const auto result =
      lockstep::app::verify_scenario({.file = lockstep::app::scenario_file("mlp-two-gpus")});
  std::printf("%.17g\n", result.layouts.front().report.weight.value);
}
