#include "tools/app/inputs/scenario_file.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "sim/config/json/config_error.hpp"
#include "tools/app/errors.hpp"
#include "tools/app/inputs/config_folder.hpp"
#include "tools/app/inputs/shipped_or_file.hpp"
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

/// Likewise for the name of a cluster.
std::string hint_of_cluster(const std::string& name) {
  const auto cluster = ConfigNames{config_folder(), "clusters"}.known(name);
  if (!cluster) return "";
  return fmt::format(
      "; {} is a cluster: `lockstep plan --model NAME --cluster {}` finds layouts on it",
      in_quotes(*cluster), *cluster);
}

/// Likewise for the name of a campaign; the page's engine ships none.
std::string hint_of_campaign(const std::string& name) {
  if (!std::filesystem::exists(std::filesystem::path{config_folder()} / "campaigns")) return "";
  const auto campaign = ConfigNames{config_folder(), "campaigns"}.known(name);
  if (!campaign) return "";
  return fmt::format("; {} is a campaign: `lockstep campaign SCENARIO {}`", in_quotes(*campaign),
                     *campaign);
}

/// Likewise for a point of a store.
std::string hint_of_point(const std::string& name) {
  if (name.find(".db:") == std::string::npos) return "";
  return "; points of stores are for run, compare, report, sensitivity and campaign, and `lockstep "
         "plan --emit scenario` writes the best layout as a file";
}

}  // namespace

std::string scenario_file(const std::string& name) {
  constexpr const char* kFolder = "scenarios";
  if (auto file = shipped_or_file(name, kFolder)) return *std::move(file);
  throw RequestError(ConfigNames{config_folder(), kFolder}.complaint("scenario", name) +
                     hint_of_model(name) + hint_of_cluster(name) + hint_of_campaign(name) +
                     hint_of_point(name));
}

}  // namespace lockstep::app
