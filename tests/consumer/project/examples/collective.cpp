// What an all-reduce of 64 MiB takes on two DGX H100.
#include <cstdio>

#include "tools/app/collective/candidates.hpp"
#include "tools/app/collective/run_collective.hpp"
#include "tools/app/inputs/config_folder.hpp"

int main() {
  lockstep::app::use_config_folder(CONFIGS);
  lockstep::app::CollectiveRequest request;
  request.cluster = {.cluster = "dgx-h100", .nodes = 2};
  add_candidates({.collectives = "all_reduce", .algorithms = "ring"}, request);
  request.sizes = {lockstep::Bytes{64 << 20}};
  for (const auto& row : run_collective(request).rows)
    std::printf("%.17g\n", row.result.time.seconds());
}
