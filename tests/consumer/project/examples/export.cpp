// The number of lines of a schedule as GOAL.
#include <algorithm>
#include <cstdio>

#include "tools/app/explain/export_schedule.hpp"
#include "tools/app/inputs/config_folder.hpp"

int main() {
  lockstep::app::use_config_folder(CONFIGS);
  lockstep::app::ExportRequest request{.form = "goal"};
  request.stage.cluster = {.cluster = "star", .ranks = 4};
  request.stage.spec =
      lockstep::parse_specs("ring", lockstep::Collective::all_reduce).specs.front();
  request.stage.size = lockstep::Bytes{1 << 20};
  request.stage.type = lockstep::find_element_type("float");
  const std::string text = export_schedule(request).text;
  std::printf("%td\n", std::count(text.begin(), text.end(), '\n'));
}
