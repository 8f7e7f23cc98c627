#include "strategies/scenario/scenario_files.hpp"

#include <fmt/format.h>

#include <system_error>

#include "sim/config/json/memory_file.hpp"
#include "topologies/files/config_names.hpp"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

std::optional<fs::path> find_path(const ValueReader& at, std::string_view name,
                                  const fs::path& folder) {
  for (const fs::path& path : {folder / fs::path{name}, fs::path{name}}) {
    if (file_exists(path)) return path.lexically_normal();
  }
  at.note(fmt::format("no file {} next to this one or in the current folder", in_quotes(name)));
  return std::nullopt;
}

/// A file next to the scenario that is named without ".json"; never the scenario itself.
std::optional<fs::path> find_local(const ValueReader& at, std::string_view name,
                                   const fs::path& folder) {
  std::error_code ignored;
  const fs::path path = (folder / (std::string{name} + ".json")).lexically_normal();
  const bool itself = fs::equivalent(path, at.problems().file(), ignored);
  const bool is_file = memory_file(path) != nullptr || fs::is_regular_file(path, ignored);
  return !itself && is_file ? std::optional{path} : std::nullopt;
}

}  // namespace

std::optional<fs::path> find_file(const ValueReader& at, std::string_view name,
                                  std::string_view noun, std::string_view folder,
                                  const ScenarioFolders& folders, std::string_view besides) {
  if (name.empty()) return std::nullopt;  // has been noted
  if (is_file_path(name)) return find_path(at, name, folders.scenario);
  const auto names = or_noted(at.problems(), [&] { return ConfigNames{folders.configs, folder}; });
  if (!names) return std::nullopt;
  if (const auto id = names->known(name)) return names->file_of(*id);
  if (auto local = find_local(at, name, folders.scenario)) return local;
  if (const auto id = names->meant(name)) return names->file_of(*id);
  at.note(names->complaint(noun, name) + std::string{besides});
  return std::nullopt;
}

std::string name_of_file(std::string_view written, const fs::path& file,
                         const ScenarioFolders& folders) {
  const fs::path shipped = folders.configs.lexically_normal();
  const bool is_shipped = file.lexically_normal().parent_path().parent_path() == shipped;
  return is_file_path(written) || !is_shipped ? std::string{written} : file.stem().string();
}

}  // namespace lockstep
