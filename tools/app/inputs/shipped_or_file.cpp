#include "tools/app/inputs/shipped_or_file.hpp"

#include <filesystem>

#include "tools/app/inputs/config_folder.hpp"
#include "topologies/files/config_names.hpp"

namespace lockstep::app {

std::optional<std::string> shipped_or_file(const std::string& name, std::string_view folder) {
  std::error_code ignored;
  const bool bare = !name.empty() && name.find('/') == std::string::npos &&
                    name.find(".json") == std::string::npos &&
                    !std::filesystem::exists(name, ignored);
  if (!bare) return name;
  if (auto whole = shipped_file(folder, name)) return whole;
  const ConfigNames names{config_folder(), folder};
  const auto id = names.meant(name);
  return id ? std::optional{names.file_of(*id).string()} : std::nullopt;
}

std::optional<std::string> shipped_file(std::string_view folder, const std::string& name) {
  std::error_code ignored;
  const std::filesystem::path whole =
      std::filesystem::path{config_folder()} / folder / (name + ".json");
  return std::filesystem::is_regular_file(whole, ignored) ? std::optional{whole.string()}
                                                          : std::nullopt;
}

}  // namespace lockstep::app
