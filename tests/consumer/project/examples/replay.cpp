// The time of a trace of another program.
#include <algorithm>
#include <cstdio>

#include "tools/app/inputs/config_folder.hpp"
#include "tools/app/replay/replay_trace_run.hpp"

int main(int, char** argv) {
  lockstep::app::use_config_folder(CONFIGS);
  lockstep::app::ReplayTraceRequest request{.trace = argv[1]};
  request.cluster = {.cluster = "star", .ranks = 2};
  double end = 0;
  for (const auto& rank : replay_trace(request).ranks)
    end = std::max(end, rank.end.since_start().seconds());
  std::printf("%.17g\n", end);
}
