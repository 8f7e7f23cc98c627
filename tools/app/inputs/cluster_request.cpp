#include "tools/app/inputs/cluster_request.hpp"

#include <array>
#include <filesystem>
#include <utility>

#include "sim/config/config_error.hpp"
#include "sim/config/did_you_mean.hpp"
#include "strategies/scenario/scenario.hpp"
#include "tools/app/errors.hpp"
#include "topologies/failures/link_changes.hpp"
#include "topologies/failures/reachability.hpp"
#include "topologies/failures/rerouted.hpp"

namespace lockstep::app {

namespace fs = std::filesystem;

RoutePolicy ClusterRequest::policy() const {
  if (const auto parsed = parse_route_policy(routes)) return *parsed;
  throw RequestError("routes", "expected auto, ecmp or shortest, got \"" + routes + "\"");
}

/// A name without a slash or ".json" is that of a shipped cluster or scenario, unless there is such
/// a file.
std::string ClusterRequest::path() const {
  std::error_code ignored;
  const bool bare = cluster.find('/') == std::string::npos &&
                    cluster.find(".json") == std::string::npos && !fs::exists(cluster, ignored);
  if (!bare) return cluster;
  const std::string scenario = config_folder() + "/scenarios/" + cluster + ".json";
  const std::string shipped = config_folder() + "/clusters/" + cluster + ".json";
  return !fs::exists(shipped, ignored) && fs::exists(scenario, ignored) ? scenario : shipped;
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

/// The device that a cluster file names: from the devices next to the cluster's own folder, else
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

/// One field's changes, with the notes added.
void change(Cluster& cluster, const std::string& field, const LinkChange& wanted,
            std::vector<std::string>& notes) {
  auto changed = for_field(field, [&] { return change_links(cluster, std::array{wanted}); });
  cluster = std::move(changed.cluster);
  notes.insert(notes.end(), changed.notes.begin(), changed.notes.end());
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

std::vector<std::string> apply_link_changes(const LinkChangeRequest& wanted, RoutePolicy policy,
                                            std::uint64_t seed, Cluster& cluster) {
  std::vector<std::string> notes;
  for (const auto& [link, settings] : wanted.set_links) {
    const std::string field = "set_link " + in_quotes(link);
    change(cluster, field,
           for_field(field, [&, &link = link,
                             &settings = settings] { return parse_link_settings(link, settings); }),
           notes);
  }
  for (const std::string& link : wanted.failed) {
    LinkChange gone;
    gone.links = link;
    gone.failed = true;
    change(cluster, "fail " + in_quotes(link), gone, notes);
  }
  refuse_cut_off(cluster);
  if (const auto ways = rerouted(cluster, policy, seed)) notes.push_back(describe(*ways, cluster));
  return notes;
}

namespace {

/// Whether a document is a scenario, whose cluster may be given by parameters.
bool is_scenario(const JsonDocument& document) {
  const auto* root = document.root.get_if<JsonObject>();
  return root != nullptr && find_member(*root, "cluster") != nullptr &&
         find_member(*root, "model") != nullptr;
}

LoadedCluster cluster_of_scenario(const std::string& file) {
  Scenario scenario = load_scenario(file, {}, config_folder());
  return {scenario.cluster.name,
          "the cluster of scenario " + scenario.name,
          std::move(scenario.cluster.device),
          std::move(scenario.cluster.cluster),
          {}};
}

}  // namespace

Device find_device(const std::string& field, const std::string& id) {
  const fs::path file = fs::path(config_folder()) / "devices" / (id + ".json");
  std::error_code ignored;
  if (id.find('/') != std::string::npos || !fs::exists(file, ignored))
    throw RequestError(field, no_such("device", id, config_folder() + "/devices"));
  return load_device(file);
}

LoadedCluster ClusterRequest::load(int extra_hosts) const {
  std::error_code ignored;
  const std::string from = path();
  if (from != cluster && !fs::exists(from, ignored))
    throw RequestError("cluster", no_such("cluster", cluster, config_folder() + "/clusters"));
  const JsonDocument document = read_json(from);
  if (is_scenario(document)) {
    if (nodes || ranks)
      throw RequestError(fields_of({nodes, ranks}),
                         "a scenario determines the size of its cluster");
    LoadedCluster loaded = cluster_of_scenario(from);
    loaded.link_changes = apply_link_changes({set_links, failed}, policy(), seed, loaded.cluster);
    return loaded;
  }
  Problems problems(from);
  auto device = read_device_of(document, problems);
  auto file = read_sized(document, {nodes, ranks, extra_hosts}, problems);
  problems.throw_if_any();
  LoadedCluster loaded{file->name, file->summary, std::move(*device), std::move(file->cluster), {}};
  loaded.link_changes = apply_link_changes({set_links, failed}, policy(), seed, loaded.cluster);
  return loaded;
}

}  // namespace lockstep::app
