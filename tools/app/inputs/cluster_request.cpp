#include "tools/app/inputs/cluster_request.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>
#include <utility>

#include "sim/config/json/config_error.hpp"
#include "sim/config/json/memory_file.hpp"
#include "strategies/scenario/scenario.hpp"
#include "strategies/scenario/scenario_overlay.hpp"
#include "tools/app/errors.hpp"
#include "tools/app/inputs/shipped_or_file.hpp"
#include "topologies/failures/link_names.hpp"
#include "topologies/failures/reachability.hpp"
#include "topologies/files/config_names.hpp"

namespace lockstep::app {

namespace fs = std::filesystem;

RoutePolicy ClusterRequest::policy() const {
  if (const auto parsed = parse_route_policy(routes)) return *parsed;
  throw RequestError("routes", "expected auto, ecmp or shortest, got \"" + routes + "\"");
}

namespace {

/// A file that is named by its path.
bool is_path(const std::string& name) {
  std::error_code ignored;
  return is_file_path(name) || (!name.empty() && fs::exists(name, ignored));
}

}  // namespace

/// A name without a slash or ".json" is that of a shipped cluster or scenario, unless there is such
/// a file.
std::string ClusterRequest::path() const {
  if (is_path(cluster)) return cluster;
  if (auto whole = shipped_file("clusters", cluster)) return *whole;
  const ConfigNames clusters{config_folder(), "clusters"};
  if (const auto id = clusters.known(cluster)) return clusters.file_of(*id).string();
  const ConfigNames scenarios{config_folder(), "scenarios"};
  if (const auto id = scenarios.known(cluster)) return scenarios.file_of(*id).string();
  if (const auto id = clusters.meant(cluster)) return clusters.file_of(*id).string();
  if (const auto id = scenarios.meant(cluster)) return scenarios.file_of(*id).string();
  throw RequestError("cluster", clusters.complaint("cluster", cluster));
}

namespace {

/// The device that a cluster file names: from the devices next to the cluster's own folder, else a
/// shipped one, else one next to the cluster.
std::optional<fs::path> device_file(const std::string& cluster_path, const std::string& id) {
  if (id.find('/') != std::string::npos) return std::nullopt;
  std::error_code ignored;
  const fs::path folder = fs::path(cluster_path).parent_path();
  const fs::path near = folder / "../devices" / (id + ".json");
  if (fs::exists(near, ignored)) return near.lexically_normal();
  const ConfigNames shipped{config_folder(), "devices"};
  if (const auto known = shipped.known(id)) return shipped.file_of(*known);
  const fs::path local = folder / (id + ".json");
  if (local != cluster_path && file_exists(local)) return local.lexically_normal();
  const auto meant = shipped.meant(id);
  return meant ? std::optional{shipped.file_of(*meant)} : std::nullopt;
}

/// Reads the device that the document names; notes if there is none, or what it has wrong.
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
                ConfigNames{config_folder(), "devices"}.complaint("device", id));
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

/// The fields that ask for this size, for messages.
std::string fields_of(const ClusterSize& asked) {
  std::string out;
  if (asked.nodes) out += "nodes " + std::to_string(*asked.nodes);
  if (asked.ranks) out += (out.empty() ? "" : " ") + ("ranks " + std::to_string(*asked.ranks));
  return out;
}

/// A file that is right in its own size is not to blame for what was asked of it.
void blame_the_request(const JsonDocument& document, ClusterSize asked, const ConfigError& error) {
  const std::string& reason = error.problems().front().message;
  const int hosts = std::exchange(asked.extra_hosts, 0);
  const bool sized = asked.nodes || asked.ranks;
  if (hosts > 0 && reads_well(document, asked))
    throw RequestError("cluster " + document.file, "cannot have " + std::to_string(hosts) +
                                                       " more host" + (hosts == 1 ? "" : "s") +
                                                       " as parameter servers: " + reason);
  if (sized && reads_well(document, {})) throw RequestError(fields_of(asked), reason);
}

std::optional<ClusterFile> read_sized(const JsonDocument& document, const ClusterSize& asked,
                                      Problems& problems) {
  try {
    return read_cluster(document, asked);
  } catch (const ConfigError& error) {
    blame_the_request(document, asked, error);
    problems.add(error);
    return std::nullopt;
  }
}

/// What a function of the links throws, with the field at fault.
template <class Make>
auto for_field(const std::string& field, Make&& make) {
  try {
    return make();
  } catch (const LinkChangeError& error) {
    throw RequestError(field, error.what());
  }
}

/// One field's change, whose effect is added.
void change(Cluster& cluster, const std::string& field, const LinkChange& wanted,
            std::vector<LinkEffect>& effects) {
  auto changed = for_field(field, [&] { return change_links(cluster, std::array{wanted}); });
  cluster = std::move(changed.cluster);
  std::move(changed.effects.begin(), changed.effects.end(), std::back_inserter(effects));
}

/// A setting of links that have all failed would change nothing.
void refuse_settings_of_failed(const LinkChangeRequest& wanted, const Cluster& cluster) {
  for (const auto& [link, settings] : wanted.set_links) {
    const NamedLinks links = links_named(cluster, link);
    const bool all = std::all_of(links.ids.begin(), links.ids.end(), [&cluster](LinkId id) {
      const LinkState* state = cluster.overlay().find(id);
      return state != nullptr && state->failed;
    });
    if (!all) continue;
    const std::size_t count = links.ids.size();
    throw RequestError("set_link " + in_quotes(link),
                       (count == 1 ? std::string{"the link fails"}
                                   : "all " + std::to_string(count) + " links fail") +
                           ", so the setting has no effect");
  }
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

LinkEffects apply_link_changes(const LinkChangeRequest& wanted, RoutePolicy policy,
                               std::uint64_t seed, Cluster& cluster) {
  LinkEffects out;
  for (const auto& [link, settings] : wanted.set_links) {
    const std::string field = "set_link " + in_quotes(link);
    change(cluster, field,
           for_field(field, [&, &link = link,
                             &settings = settings] { return parse_link_settings(link, settings); }),
           out.links);
  }
  for (const std::string& link : wanted.failed) {
    LinkChange gone;
    gone.links = link;
    gone.failed = true;
    change(cluster, "fail " + in_quotes(link), gone, out.links);
  }
  refuse_settings_of_failed(wanted, cluster);
  refuse_cut_off(cluster);
  out.rerouted = rerouted(cluster, policy, seed);
  return out;
}

namespace {

/// Whether a document is a scenario, whose cluster may be given by parameters.
bool is_scenario(const JsonDocument& document) {
  const auto* root = document.root.get_if<JsonObject>();
  return root != nullptr && find_member(*root, "cluster") != nullptr &&
         find_member(*root, "model") != nullptr;
}

LoadedCluster cluster_of_scenario(const std::string& file,
                                  const std::vector<std::string>& overrides) {
  Scenario scenario = load_scenario(file, overrides, config_folder());
  return {scenario.cluster.name,
          "the cluster of scenario " + scenario.name,
          std::move(scenario.cluster.device),
          std::move(scenario.cluster.cluster),
          {}};
}

}  // namespace

Device find_device(const std::string& field, const std::string& id) {
  const ConfigNames names{config_folder(), "devices"};
  const auto meant = names.meant(id);
  if (!meant) throw RequestError(field, names.complaint("device", id));
  return load_device(names.file_of(*meant));
}

namespace {

/// Sizes have options of their own; the scenario's keys for them are not the cluster's.
void refuse_sizes(const std::vector<std::string>& overrides) {
  for (const std::string& each : overrides)
    for (const char* key : {"nodes", "ranks"})
      if (each.starts_with(std::string{key} + "="))
        throw RequestError("set " + each, fmt::format("use --{} {}", key, each.substr(6)));
}

}  // namespace

LoadedCluster ClusterRequest::load(int extra_hosts) const {
  const std::string from = document ? document->file : path();
  JsonDocument read = document ? *document : read_json(from);
  if (!document && is_scenario(read)) {
    if (nodes || ranks)
      throw RequestError(fields_of({nodes, ranks}),
                         "a scenario determines the size of its cluster");
    LoadedCluster loaded = cluster_of_scenario(from, overrides);
    loaded.file = from;
    loaded.link_changes = apply_link_changes({set_links, failed}, policy(), seed, loaded.cluster);
    return loaded;
  }
  refuse_sizes(overrides);
  Overlay overlay;
  for (const std::string& each : overrides) overlay.apply(each, read.root);
  Problems problems(from);
  auto device = read_device_of(read, problems);
  auto file = read_sized(read, {nodes, ranks, extra_hosts}, problems);
  try {
    problems.throw_if_any();
  } catch (const ConfigError& error) {
    throw overlay.attributed(error);
  }
  const std::string name = overrides.empty()
                               ? file->name
                               : fmt::format("{} with {}", file->name, fmt::join(overrides, ", "));
  std::string summary = overrides.empty() ? file->summary : "";  // of the unchanged cluster
  LoadedCluster loaded{name, std::move(summary), std::move(*device), std::move(file->cluster), {}};
  if (!document) loaded.file = from;
  loaded.link_changes = apply_link_changes({set_links, failed}, policy(), seed, loaded.cluster);
  return loaded;
}

}  // namespace lockstep::app
