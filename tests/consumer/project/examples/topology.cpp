// The bisection bandwidth of a cluster, in bytes per second.
#include <cstdio>

#include "tools/app/inputs/config_folder.hpp"
#include "tools/app/topology/topology.hpp"

int main() {
  lockstep::app::use_config_folder(CONFIGS);
  const auto summary = lockstep::app::summarize_topology({.cluster = "dgx-h100", .nodes = 4});
  std::printf("%.17g\n", summary.bisection->least());
}
