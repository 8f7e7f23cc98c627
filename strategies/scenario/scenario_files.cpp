#include "strategies/scenario/scenario_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "sim/config/complaint.hpp"
#include "topologies/devices/device.hpp"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

bool is_path(std::string_view name) {
  return name.find('/') != std::string_view::npos || name.find(".json") != std::string_view::npos;
}

std::optional<fs::path> find_path(const ValueReader& at, std::string_view name,
                                  const fs::path& folder) {
  std::error_code ignored;
  for (const fs::path& path : {folder / fs::path{name}, fs::path{name}}) {
    if (fs::exists(path, ignored)) return path.lexically_normal();
  }
  at.note(fmt::format("no file {} next to this one or in the current folder", in_quotes(name)));
  return std::nullopt;
}

}  // namespace

std::optional<fs::path> find_file(const ValueReader& at, std::string_view name,
                                  std::string_view noun, std::string_view folder,
                                  const ScenarioFolders& folders) {
  if (name.empty()) return std::nullopt;  // has been noted
  if (is_path(name)) return find_path(at, name, folders.scenario);
  const fs::path shipped = folders.configs / folder;
  const auto ids = or_noted(at.problems(), [&] { return device_ids(shipped); });
  if (!ids) return std::nullopt;
  if (std::find(ids->begin(), ids->end(), name) != ids->end()) {
    return shipped / (std::string{name} + ".json");
  }
  at.note(complain_of_name(noun, name, {ids->begin(), ids->end()}));
  return std::nullopt;
}

}  // namespace lockstep
