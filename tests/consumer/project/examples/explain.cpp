// What the closed form of a ring says, next to the time that is simulated.
#include <cstdio>

#include "tools/app/explain/explain.hpp"
#include "tools/app/inputs/config_folder.hpp"

int main() {
  lockstep::app::use_config_folder(CONFIGS);
  lockstep::app::ExplainRequest request;
  request.stage.cluster = {.cluster = "star", .ranks = 4};
  request.stage.spec =
      lockstep::parse_specs("ring", lockstep::Collective::all_reduce).specs.front();
  request.stage.size = lockstep::Bytes{64 << 20};
  request.stage.type = lockstep::find_element_type("float");
  std::printf("%.17g\n", explain(request).cost.simulated->time.seconds());
}
