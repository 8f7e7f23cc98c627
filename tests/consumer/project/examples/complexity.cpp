// How the number of rounds grows with the number of ranks.
#include <cstdio>

#include "tools/app/complexity/complexity.hpp"
#include "tools/app/inputs/config_folder.hpp"

int main() {
  lockstep::app::use_config_folder(CONFIGS);
  lockstep::app::ComplexityRequest request;
  request.cluster.cluster = "star";
  request.algorithms = lockstep::parse_specs("ring", request.collective).specs;
  request.ranks = {2, 4, 8, 16, 32};
  request.small = lockstep::Bytes{8};
  request.large = lockstep::Bytes{1 << 20};
  std::printf("%.17g\n", measure_complexity(request).outcomes.front().rounds->exponent);
}
