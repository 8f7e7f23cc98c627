// The simulated time of the first row that nccl-tests printed.
#include <cstdio>

#include "tools/app/collective/against.hpp"
#include "tools/app/inputs/config_folder.hpp"

int main(int, char** argv) {
  lockstep::app::use_config_folder(CONFIGS);
  const auto report = run_against({.file = argv[1]}, lockstep::app::CollectiveRequest{});
  std::printf("%.17g\n", report.simulated.front().seconds());
}
