#include "tools/app/inputs/scenario_file.hpp"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <vector>

#include "sim/config/complaint.hpp"
#include "tools/app/errors.hpp"
#include "tools/app/inputs/cluster_request.hpp"

namespace lockstep::app {

std::string scenario_file(const std::string& name) {
  std::error_code ignored;
  const bool bare = name.find('/') == std::string::npos &&
                    name.find(".json") == std::string::npos &&
                    !std::filesystem::exists(name, ignored);
  if (!bare) return name;
  const std::string folder = config_folder() + "/scenarios";
  const std::vector<std::string> ids = device_ids(folder);
  const std::vector<std::string_view> names(ids.begin(), ids.end());
  if (std::find(ids.begin(), ids.end(), name) != ids.end()) return folder + "/" + name + ".json";
  throw RequestError(complain_of_name("scenario", name, names));
}

}  // namespace lockstep::app
