/// Writes the generated parts of the schemas in FOLDER (configs/schema) from the tables of fields:
///   write_schemas FOLDER            writes them
///   write_schemas FOLDER --check    fails if one is stale

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "sim/config/json.hpp"
#include "sim/config/json_values.hpp"
#include "strategies/scenario/parallel_fields.hpp"
#include "topologies/devices/kernel_schema.hpp"
#include "topologies/files/cluster_schema.hpp"

namespace {

using namespace lockstep;

struct Generated {
  const char* file;
  void (*write)(JsonValue& schema);
};

constexpr Generated kGenerated[] = {{"box.schema.json", write_machine_schema},
                                    {"cluster.schema.json", write_cluster_schema},
                                    {"kernels.schema.json", write_kernel_schema},
                                    {"scenario.schema.json", write_parallel_schema}};

std::string generated(const std::filesystem::path& path, const Generated& by) {
  JsonDocument document = read_json(path);
  by.write(document.root);
  return json_lines(document.root);
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
    if (!is_stale(path, generated(path, each))) continue;
    std::fprintf(stderr, "%s differs from the tables of fields; run tools/refresh_reference.sh\n",
                 path.c_str());
    ++stale;
  }
  return stale;
}

void write(const std::filesystem::path& folder) {
  for (const Generated& each : kGenerated) {
    const std::filesystem::path path = folder / each.file;
    const std::string text = generated(path, each);
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
