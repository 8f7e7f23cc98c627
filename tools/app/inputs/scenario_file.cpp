#include "tools/app/inputs/scenario_file.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "sim/config/config_error.hpp"
#include "tools/app/errors.hpp"
#include "tools/app/inputs/config_folder.hpp"
#include "topologies/files/config_names.hpp"

namespace lockstep::app {

namespace {

/// For the name of a model where a scenario is expected.
std::string hint_of_model(const std::string& name) {
  const auto model = ConfigNames{config_folder(), "models"}.known(name);
  if (!model) return "";
  return fmt::format(
      "; {} is a model: `lockstep plan --model {} --cluster NAME` finds its layouts on a cluster",
      in_quotes(*model), *model);
}

}  // namespace

std::string scenario_file(const std::string& name) {
  std::error_code ignored;
  const bool bare = name.find('/') == std::string::npos &&
                    name.find(".json") == std::string::npos &&
                    !std::filesystem::exists(name, ignored);
  if (!bare) return name;
  const ConfigNames names{config_folder(), "scenarios"};
  if (const auto id = names.meant(name)) return names.file_of(*id).string();
  throw RequestError(names.complaint("scenario", name) + hint_of_model(name));
}

}  // namespace lockstep::app
