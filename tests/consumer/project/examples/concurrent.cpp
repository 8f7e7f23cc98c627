// The time of the first of several collectives that share a cluster.
#include <cstdio>

#include "tools/app/collective/concurrent.hpp"
#include "tools/app/inputs/config_folder.hpp"

int main(int, char** argv) {
  lockstep::app::use_config_folder(CONFIGS);
  lockstep::app::CollectiveRequest request;
  request.cluster = {.cluster = "dgx-h100"};
  const lockstep::app::ConcurrentReport report = run_concurrent(argv[1], request);
  std::printf("%.17g\n", report.collectives.at(0).together.seconds());
}
