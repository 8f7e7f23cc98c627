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
  // The whole name of a shipped one needs no list of all.
  const std::filesystem::path whole =
      std::filesystem::path{config_folder()} / folder / (name + ".json");
  if (std::filesystem::is_regular_file(whole, ignored)) return whole.string();
  const ConfigNames names{config_folder(), folder};
  const auto id = names.meant(name);
  return id ? std::optional{names.file_of(*id).string()} : std::nullopt;
}

}  // namespace lockstep::app
