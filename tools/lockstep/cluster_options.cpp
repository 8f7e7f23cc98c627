#include "tools/lockstep/cluster_options.hpp"

#include <CLI/CLI.hpp>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <utility>

#include "tools/lockstep/errors.hpp"
#include "tools/lockstep/number_option.hpp"
#include "topologies/config/config_error.hpp"
#include "topologies/config/did_you_mean.hpp"
#include "topologies/link_changes.hpp"
#include "topologies/reachability.hpp"
#include "topologies/rerouted.hpp"

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
  CLI::Option* file = command.add_option(
      "--cluster", cluster,
      "Cluster file, such as configs/clusters/dgx-h100.json, or the name of a shipped one");
  file->required(cluster.empty())->type_name("FILE");
  if (!cluster.empty()) file->capture_default_str();
  add_whole_number(
      command, "--nodes", 1, kMostNodes, [this](auto n) { nodes = static_cast<int>(n); },
      "Number of nodes (default: as the file says)");
  add_whole_number(
      command, "--ranks", 1, kMostRanks, [this](auto n) { ranks = static_cast<int>(n); },
      "Number of ranks, where the size is free");
  command
      .add_option("--routes", routes,
                  "auto: rail first, else fewest hops, equal paths split; ecmp: one of them by a "
                  "hash; shortest: always the first")
      ->type_name("POLICY")
      ->capture_default_str();
  add_whole_number(
      command, "--seed", 0, std::numeric_limits<std::uint64_t>::max(), [this](auto n) { seed = n; },
      "Seed of everything drawn at random")
      ->default_str(std::to_string(seed));
  add_links_to(command);
}

void ClusterOptions::add_links_to(CLI::App& command) {
  command
      .add_option(
          "--set-link", set_links,
          "Changes a link (\"node0/gpu3 -> node0/nvswitch0\", with -- for both directions) or all "
          "links "
          "of a switch, NIC or node (\"rail0/leaf0\"); SETTINGS are bandwidth=50% or "
          "bandwidth=\"25 GB/s\" (what it then carries) and latency=\"5 us\", separated by commas; "
          "repeatable")
      ->type_name("LINK SETTINGS")
      ->allow_extra_args(false);
  command
      .add_option("--fail", failed,
                  "Takes a link away, or all links of a switch, NIC or node, and routes round it; "
                  "repeatable")
      ->type_name("LINK")
      ->allow_extra_args(false);
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

/// `no cluster named "stra"; did you mean "star"?`, or which command lists them.
std::string no_such(const std::string& noun, const std::string& name, const std::string& folder) {
  const auto ids = device_ids(folder);
  const std::vector<std::string_view> candidates(ids.begin(), ids.end());
  const std::string message = "no " + noun + " named " + in_quotes(name) + "; ";
  if (const auto meant = did_you_mean(name, candidates))
    return message + "did you mean " + in_quotes(*meant) + "?";
  return message + "`lockstep list " + noun + "s` names them";
}

/// The device that a cluster file names: from the devices beside the cluster's own folder, else
/// from the shipped ones.
std::optional<fs::path> device_file(const std::string& cluster_path, const std::string& id) {
  if (id.find('/') != std::string::npos) return std::nullopt;
  std::error_code ignored;
  for (const fs::path& folder :
       {fs::path(cluster_path).parent_path() / "../devices", fs::path(config_folder()) / "devices"})
    if (const fs::path file = folder / (id + ".json"); fs::exists(file, ignored))
      return file.lexically_normal();
  return std::nullopt;
}

/// Reads the device that the document names; notes where there is none, or what it has wrong.
std::optional<Device> read_device_of(const JsonDocument& document, Problems& problems) {
  const auto* root = document.root.get_if<JsonObject>();
  const JsonValue* value = root != nullptr ? find_member(*root, "device") : nullptr;
  const auto* given = value != nullptr ? value->get_if<std::string>() : nullptr;
  if (value != nullptr && given == nullptr) return std::nullopt;  // the cluster's reader says so
  const std::string id = given != nullptr ? *given : "host";
  const auto file = device_file(document.file, id);
  try {
    if (file) return load_device(*file);
  } catch (const ConfigError& error) {
    problems.add(error);
    return std::nullopt;
  }
  problems.note(value != nullptr ? value->at : document.root.at, "/device",
                no_such("device", id, config_folder() + "/devices"));
  return std::nullopt;
}

bool reads_well(const JsonDocument& document, const ClusterSize& size) {
  try {
    (void)read_cluster(document, size);
    return true;
  } catch (const ConfigError&) {
    return false;
  }
}

/// The options that ask for this size, for messages.
std::string options_of(const ClusterSize& asked) {
  std::string out;
  if (asked.nodes) out += "--nodes " + std::to_string(*asked.nodes);
  if (asked.ranks) out += (out.empty() ? "" : " ") + ("--ranks " + std::to_string(*asked.ranks));
  return out;
}

/// A file that is right in its own size is not to blame for what was asked of it.
void blame_the_options(const JsonDocument& document, ClusterSize asked, const ConfigError& error) {
  const std::string& reason = error.problems().front().message;
  const int hosts = std::exchange(asked.extra_hosts, 0);
  const bool sized = asked.nodes || asked.ranks;
  if (hosts > 0 && reads_well(document, asked))
    throw UsageError("--cluster " + document.file + " cannot have " + std::to_string(hosts) +
                     " more host" + (hosts == 1 ? "" : "s") + " as parameter servers: " + reason);
  if (sized && reads_well(document, {})) throw UsageError(options_of(asked) + ": " + reason);
}

std::optional<ClusterFile> read_sized(const JsonDocument& document, const ClusterSize& asked,
                                      Problems& problems) {
  try {
    return read_cluster(document, asked);
  } catch (const ConfigError& error) {
    blame_the_options(document, asked, error);
    problems.add(error);
    return std::nullopt;
  }
}

/// What a function of the links throws, with the option before it.
template <class Make>
auto for_option(const std::string& option, Make&& make) {
  try {
    return make();
  } catch (const LinkChangeError& error) {
    throw UsageError(option + ": " + error.what());
  }
}

/// One option's changes, with the notes added.
void change(LoadedCluster& loaded, const std::string& option, const LinkChange& wanted) {
  auto [cluster, notes] =
      for_option(option, [&] { return change_links(loaded.cluster, std::array{wanted}); });
  loaded.cluster = std::move(cluster);
  loaded.link_changes.insert(loaded.link_changes.end(), notes.begin(), notes.end());
}

void refuse_cut_off(const Cluster& cluster) {
  const auto pair = first_cut_off(cluster);
  if (!pair) return;
  const auto name = [&cluster](EndpointId rank) {
    return "rank " + std::to_string(rank) + " (" + cluster.vertex_name(cluster.vertex_of(rank)) +
           ")";
  };
  throw Refusal("no route is left from " + name(pair->first) + " to " + name(pair->second));
}

}  // namespace

void ClusterOptions::change_links_of(LoadedCluster& loaded) const {
  for (const auto& [link, settings] : set_links) {
    const std::string option = "--set-link " + in_quotes(link);
    change(loaded, option, for_option(option, [&, &link = link, &settings = settings] {
             return parse_link_settings(link, settings);
           }));
  }
  for (const std::string& link : failed) {
    LinkChange gone;
    gone.links = link;
    gone.failed = true;
    change(loaded, "--fail " + in_quotes(link), gone);
  }
  refuse_cut_off(loaded.cluster);
  if (const auto ways = rerouted(loaded.cluster, policy(), seed))
    loaded.link_changes.push_back(describe(*ways, loaded.cluster));
}

Device find_device(const std::string& option, const std::string& id) {
  const fs::path file = fs::path(config_folder()) / "devices" / (id + ".json");
  std::error_code ignored;
  if (id.find('/') != std::string::npos || !fs::exists(file, ignored))
    throw UsageError(option + ": " + no_such("device", id, config_folder() + "/devices"));
  return load_device(file);
}

LoadedCluster ClusterOptions::load(int extra_hosts) const {
  std::error_code ignored;
  const std::string from = path();
  if (from != cluster && !fs::exists(from, ignored))
    throw UsageError("--cluster: " + no_such("cluster", cluster, config_folder() + "/clusters"));
  const JsonDocument document = read_json(from);
  Problems problems(from);
  auto device = read_device_of(document, problems);
  auto file = read_sized(document, {nodes, ranks, extra_hosts}, problems);
  problems.throw_if_any();
  LoadedCluster loaded{file->name, file->summary, std::move(*device), std::move(file->cluster), {}};
  change_links_of(loaded);
  return loaded;
}

}  // namespace lockstep::cli
