#include "tools/app/inputs/scenario_file.hpp"

#include <filesystem>

#include "tools/app/errors.hpp"
#include "tools/app/inputs/config_folder.hpp"
#include "topologies/files/config_names.hpp"

namespace lockstep::app {

std::string scenario_file(const std::string& name) {
  std::error_code ignored;
  const bool bare = name.find('/') == std::string::npos &&
                    name.find(".json") == std::string::npos &&
                    !std::filesystem::exists(name, ignored);
  if (!bare) return name;
  const ConfigNames names{config_folder(), "scenarios"};
  if (const auto id = names.meant(name)) return names.file_of(*id).string();
  throw RequestError(names.complaint("scenario", name));
}

}  // namespace lockstep::app
