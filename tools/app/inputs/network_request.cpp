#include "tools/app/inputs/network_request.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "sim/config/did_you_mean.hpp"
#include "tools/app/errors.hpp"
#include "tools/app/inputs/cluster_request.hpp"

namespace lockstep::app {

NetworkModel NetworkRequest::parsed() const {
  if (model == "fluid") return NetworkModel::fluid;
  if (model == "alpha-beta") return NetworkModel::alpha_beta;
  if (model == "queue") return NetworkModel::queue;
  throw RequestError("network",
                     fmt::format("expected fluid, alpha-beta or queue, got \"{}\"", model));
}

Protocol load_named_protocol(const std::string& name) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  if (name.find('/') != std::string::npos || name.find(".json") != std::string::npos ||
      fs::exists(name, ignored))
    return load_protocol(name);
  const std::string folder = config_folder() + "/protocols";
  const std::vector<std::string> ids = protocol_ids(folder);
  if (std::find(ids.begin(), ids.end(), name) != ids.end())
    return load_protocol(folder + "/" + name + ".json");
  const std::vector<std::string_view> candidates(ids.begin(), ids.end());
  const auto meant = did_you_mean(name, candidates);
  throw RequestError("protocol",
                     fmt::format("no protocol named \"{}\"; {}", name,
                                 meant ? fmt::format("did you mean \"{}\"?", *meant)
                                       : fmt::format("choose from {}", fmt::join(ids, ", "))));
}

}  // namespace lockstep::app
