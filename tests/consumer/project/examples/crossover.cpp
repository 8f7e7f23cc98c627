// The message size from which a ring is faster than one shot on eight GPUs.
#include <cstdio>

#include "tools/app/collective/candidates.hpp"
#include "tools/app/collective/crossover.hpp"
#include "tools/app/inputs/config_folder.hpp"

int main() {
  lockstep::app::use_config_folder(CONFIGS);
  lockstep::app::CollectiveRequest request;
  request.cluster = {.cluster = "star", .ranks = 8};
  add_candidates({.collectives = "all_reduce", .algorithms = "one_shot,ring"}, request);
  request.sizes = {lockstep::Bytes{8}, lockstep::Bytes{64 << 20}};
  for (const auto& collective : find_crossovers(request).collectives)
    for (const auto& change : collective.changes)
      std::printf("%lld\n", static_cast<long long>(change.size.count()));
}
