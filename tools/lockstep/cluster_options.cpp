#include "tools/lockstep/cluster_options.hpp"

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <filesystem>

#include "tools/lockstep/errors.hpp"
#include "topologies/config/config_error.hpp"
#include "topologies/config/did_you_mean.hpp"

namespace lockstep::cli {

namespace fs = std::filesystem;

std::string config_folder() {
  if (const char* given = std::getenv("LOCKSTEP_CONFIGS"); given != nullptr && *given != '\0')
    return given;
  std::error_code ignored;
  if (fs::is_directory("configs/clusters", ignored)) return "configs";
  return LOCKSTEP_CONFIG_FOLDER;
}

void ClusterOptions::add_to(CLI::App& command) {
  command
      .add_option(
          "--cluster", cluster,
          "Cluster file, such as configs/clusters/dgx-h100.json, or the name of a shipped one")
      ->required()
      ->type_name("FILE");
  command.add_option("--nodes", nodes, "Number of nodes (default: as the file says)")
      ->type_name("N");
  command.add_option("--ranks", ranks, "Number of ranks, where the size is free")->type_name("N");
  command
      .add_option("--routes", routes,
                  "auto: rail first, else fewest hops, equal paths split; ecmp: one of them by a "
                  "hash; shortest: always the first")
      ->type_name("POLICY")
      ->capture_default_str();
  command.add_option("--seed", seed, "Seed of everything drawn at random")
      ->type_name("N")
      ->capture_default_str();
}

RoutePolicy ClusterOptions::policy() const {
  if (const auto parsed = parse_route_policy(routes)) return *parsed;
  throw UsageError("--routes: expected auto, ecmp or shortest, got \"" + routes + "\"");
}

/// A name without a slash or ".json" is that of a shipped cluster, unless there is such a file.
std::string ClusterOptions::path() const {
  std::error_code ignored;
  const bool bare = cluster.find('/') == std::string::npos &&
                    cluster.find(".json") == std::string::npos && !fs::exists(cluster, ignored);
  return bare ? config_folder() + "/clusters/" + cluster + ".json" : cluster;
}

namespace {

/// The device that a cluster file names: from the devices beside the cluster's own folder, else
/// from the shipped ones.
Device device_of(const std::string& cluster_path, const std::string& id) {
  const std::string shipped = config_folder() + "/devices";
  std::error_code ignored;
  for (const fs::path& folder :
       {fs::path(cluster_path).parent_path() / "../devices", fs::path(shipped)})
    if (const fs::path file = folder / (id + ".json"); fs::exists(file, ignored))
      return load_device(file.lexically_normal());
  const auto ids = device_ids(shipped);
  const std::vector<std::string_view> candidates(ids.begin(), ids.end());
  std::string message = "no device named " + in_quotes(id);
  if (const auto meant = did_you_mean(id, candidates))
    message += "; did you mean " + in_quotes(*meant) + "?";
  throw ConfigError(
      Problem{cluster_path, {}, "/device", message + "; `lockstep list devices` names them"});
}

}  // namespace

LoadedCluster ClusterOptions::load(int extra_hosts) const {
  ClusterSize size;
  size.nodes = nodes;
  size.ranks = ranks;
  size.extra_hosts = extra_hosts;
  ClusterFile file = load_cluster(path(), size);
  return {file.name, file.summary, device_of(path(), file.device), std::move(file.cluster)};
}

}  // namespace lockstep::cli
