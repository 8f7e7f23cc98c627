/// Writes the schemas in FOLDER (configs/schema), as the readers of the files describe them:
///   write_schemas FOLDER            writes them
///   write_schemas FOLDER --check    fails if one is stale

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "sim/config/json/json.hpp"
#include "sim/config/json/json_values.hpp"
#include "strategies/calibration/calibration.hpp"
#include "strategies/measure/confidence/validated_runs.hpp"
#include "strategies/measure/validation/measured_file.hpp"
#include "strategies/models/files/model_file.hpp"
#include "strategies/nccl/tuning_file.hpp"
#include "strategies/scenario/scenario.hpp"
#include "strategies/stacks/precision_recipe_file.hpp"
#include "strategies/stacks/software_stack.hpp"
#include "tools/app/campaign/file/campaign_file.hpp"
#include "tools/app/collective/concurrent.hpp"
#include "tools/app/plan/space.hpp"
#include "tools/app/sensitivity/spreads.hpp"
#include "topologies/devices/device.hpp"
#include "topologies/devices/device_kernels.hpp"
#include "topologies/files/cluster_file.hpp"
#include "topologies/files/config_names.hpp"
#include "topologies/files/protocol.hpp"

namespace {

using namespace lockstep;

struct Generated {
  const char* file;
  JsonValue (*schema)();
};

constexpr Generated kGenerated[] = {{"aliases.schema.json", aliases_schema},
                                    {"calibration.schema.json", calibration_schema},
                                    {"campaign.schema.json", app::campaign_schema},
                                    {"cluster.schema.json", cluster_schema},
                                    {"concurrent.schema.json", app::concurrent_schema},
                                    {"device.schema.json", device_schema},
                                    {"kernels.schema.json", kernel_schema},
                                    {"measured.schema.json", measured_schema},
                                    {"model.schema.json", model_schema},
                                    {"nccl-tuning.schema.json", nccl_tuning_schema},
                                    {"precision.schema.json", precision_schema},
                                    {"protocol.schema.json", protocol_schema},
                                    {"residuals.schema.json", residuals_schema},
                                    {"scenario.schema.json", scenario_schema},
                                    {"space.schema.json", app::space_schema},
                                    {"spreads.schema.json", app::spreads_schema},
                                    {"stack.schema.json", stack_schema}};

std::string text_of(const Generated& each) {
  constexpr std::size_t kWidth = 200;  // an object with its help on one line
  return json_lines(each.schema(), kWidth);
}

bool is_stale(const std::filesystem::path& path, const std::string& text) {
  std::ifstream in{path, std::ios::binary};
  return std::string{std::istreambuf_iterator<char>{in}, {}} != text;
}

/// The number of stale files.
int check(const std::filesystem::path& folder) {
  int stale = 0;
  for (const Generated& each : kGenerated) {
    const std::filesystem::path path = folder / each.file;
    if (!is_stale(path, text_of(each))) continue;
    std::fprintf(stderr, "%s differs from its reader; run tools/refresh_reference.sh\n",
                 path.c_str());
    ++stale;
  }
  return stale;
}

void write(const std::filesystem::path& folder) {
  for (const Generated& each : kGenerated) {
    const std::filesystem::path path = folder / each.file;
    const std::string text = text_of(each);
    std::ofstream out{path, std::ios::binary};
    out << text;
    if (!out.flush()) throw Error{ErrorCode::io, "cannot be written", path.string()};
  }
}

}  // namespace

int main(int count, char** arguments) {
  const bool checks = count == 3 && std::string_view{arguments[2]} == "--check";
  if (count != 2 && !checks) {
    std::fputs("usage: write_schemas FOLDER [--check]\n", stderr);
    return 2;
  }
  try {
    if (checks) return check(arguments[1]) == 0 ? 0 : 1;
    write(arguments[1]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
  return 0;
}
