#include "strategies/scenario/scenario_cluster.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sim/config/complaint.hpp"
#include "sim/config/json/json_schema.hpp"
#include "sim/config/json/json_values.hpp"
#include "strategies/scenario/scenario_node.hpp"
#include "topologies/files/cluster_file.hpp"

namespace lockstep {
namespace {

/// A named cluster file with what the scenario says of its size and device.
struct NamedCluster {
  std::string name;  // as written
  std::optional<std::filesystem::path> path;
  ClusterSize size;
  std::optional<std::string> gpu;
  JsonObject overrides{};  // of the file's members
};

/// Members of a cluster file that a scenario may override in part.
constexpr std::array<Key, 4> kOverridable{
    Key{"topology",
        R"(Values that override the cluster file's, e.g. {"nvlink": {"bandwidth": "225 GB/s"}})"},
    Key{"node", "Values that override the cluster file's"},
    Key{"graph", "Values that override the cluster file's"},
    Key{"fabric",
        R"(Values that override the cluster file's, e.g. {"link": {"bandwidth": "200 Gb/s"}})"}};

/// Objects member by member; whatever else replaces what is there.
void merge(JsonValue& into, const JsonValue& from) {
  auto* members = std::get_if<JsonObject>(&into.data);
  const JsonObject* given = from.get_if<JsonObject>();
  if (members == nullptr || given == nullptr) {
    into = from;
    return;
  }
  for (const JsonMember& member : *given) {
    const auto there =
        std::find_if(members->begin(), members->end(),
                     [&member](const JsonMember& each) { return each.key == member.key; });
    if (there == members->end()) {
      members->push_back(member);
    } else {
      merge(there->value, member.value);
    }
  }
}

/// Whether a pointer leads to a value of `from`.
bool leads_into(const JsonValue& from, std::string_view pointer) {
  const JsonObject* members = from.get_if<JsonObject>();
  if (pointer.empty() || members == nullptr) return true;
  const std::size_t end = std::min(pointer.find('/', 1), pointer.size());
  const JsonValue* next = find_member(*members, pointer.substr(1, end - 1));
  return next != nullptr && leads_into(*next, pointer.substr(end));
}

/// Problems with members that the scenario overrides are the scenario's.
ConfigError placed(const ConfigError& error, const ValueReader& at, const NamedCluster& named) {
  const JsonValue overrides{{}, named.overrides};
  std::vector<Problem> problems = error.problems();
  for (Problem& problem : problems) {
    if (problem.pointer.empty() || !leads_into(overrides, problem.pointer)) continue;
    problem.file = at.problems().file();
    problem.pointer = at.pointer() + problem.pointer;
  }
  return {std::move(problems), error.total()};
}

bool reads_well(const JsonDocument& document) {
  try {
    (void)read_cluster(document);
    return true;
  } catch (const ConfigError&) {
    return false;
  }
}

/// A size that a cluster cannot have, placed at the scenario's key of it.
ConfigError placed_at_size(const ConfigError& error, const ValueReader& at,
                           const ClusterSize& size) {
  const char* key = size.ranks ? "ranks" : "nodes";
  const JsonObject* members = at.value()->get_if<JsonObject>();
  const JsonValue* value = members == nullptr ? nullptr : find_member(*members, key);
  if (value == nullptr) return error;
  return ConfigError{Problem{at.problems().file(), value->at, at.pointer() + "/" + key,
                             error.problems().front().message}};
}

/// Tags the links of a cluster's file whose bandwidth or latency `overrides` changes: they are
/// assumed unless it specifies their provenance. `file` is the same part of the file.
void tag_overridden_links(JsonValue& overrides, const JsonValue* file) {
  auto* members = std::get_if<JsonObject>(&overrides.data);
  if (members == nullptr) return;
  const auto* of_file = file == nullptr ? nullptr : file->get_if<JsonObject>();
  const auto in_file = [&](std::string_view key) {
    return of_file == nullptr ? nullptr : find_member(*of_file, key);
  };
  for (JsonMember& member : *members) tag_overridden_links(member.value, in_file(member.key));
  const auto given = [&](std::string_view key) { return find_member(*members, key) != nullptr; };
  const JsonValue* tag = in_file("provenance");
  if (const JsonValue* own = in_file("latency_provenance")) tag = own;
  const bool wide = given("bandwidth") || given("efficiency");
  const bool late = given("latency");
  if (!in_file("bandwidth") || (!wide && !late)) return;
  if (late && !given("latency_provenance"))
    set_member(*members, "latency_provenance", json_of("assumed"));
  if (!wide || given("provenance")) return;
  set_member(*members, "provenance", json_of("assumed"));
  if (tag != nullptr && !given("latency_provenance"))
    set_member(*members, "latency_provenance", *tag);
}

/// The cluster's file with what the scenario overrides.
ClusterFile load_named(const ValueReader& at, const NamedCluster& named, const ClusterSize& size) {
  JsonDocument document = read_json(*named.path);
  JsonValue overrides{{}, named.overrides};
  tag_overridden_links(overrides, &document.root);
  for (const JsonMember& member : *overrides.get_if<JsonObject>())
    merge(document.root, json_object({{member.key, member.value}}));
  try {
    return read_cluster(document, size);
  } catch (const ConfigError& error) {
    const bool sized = (size.nodes || size.ranks) && size.extra_hosts == 0;
    if (sized && reads_well(document)) throw placed_at_size(error, at, size);
    throw placed(error, at, named);
  }
}

std::optional<int> read_count(ObjectReader& in, const Key& key, std::int64_t most) {
  const auto count = in.optional_integer(key, 1, most);
  return count ? std::optional{static_cast<int>(*count)} : std::nullopt;
}

/// Keys of clusters that are given by parameters, and what changes a cluster file instead.
constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kOfParameters{{
    {"gpus", "write \"nodes\" or \"ranks\""},
    {"gpus_per_node", "its node builder has them under \"topology\""},
    {"intra", "its node builder has the links under \"topology\""},
    {"pcie", "write \"topology\": {\"pcie\": {\"bandwidth\": \"128 GB/s\"}}"},
    {"nics_per_node",
     "its node builder has them under \"topology\", or replace the file with \"gpu\" and \"gpus\""},
    {"nic_gbps", "write \"fabric\": {\"link\": {\"bandwidth\": \"200 Gb/s\"}}"},
}};

void refuse_parameters(ObjectReader& in) {
  if (in.describes()) return;
  for (const auto& [key, instead] : kOfParameters)
    if (const auto given = in.optional(key))
      given->note(fmt::format("\"{}\" is a key of clusters without a file; {}", key, instead));
}

NamedCluster read_named(const ValueReader& at, const ScenarioFolders& folders) {
  NamedCluster named;
  const auto read_name = [&](const ValueReader& name) {
    named.name = name.string();
    if (name.describes()) return;
    named.path = find_file(name, named.name, "cluster", "clusters", folders);
    if (named.path) named.name = name_of_file(named.name, *named.path, folders);
  };
  if (at.is_string() || at.describes()) read_name(at);
  if (at.is_string()) return named;
  at.object([&](ObjectReader& in) {
    read_name(in.required({"file", "Name or path of a cluster file"}));
    named.size.nodes = read_count(in, {"nodes", "Number of nodes"}, kMostNodes);
    named.size.ranks = read_count(in, {"ranks", "Number of ranks"}, kMostRanks);
    named.gpu =
        in.optional_string({"gpu", "Device of configs/devices that overrides the cluster file's"});
    for (const Key& key : kOverridable) {
      const auto given = in.optional(key);
      if (in.describes()) {
        given->allow(any_object_schema());
        continue;
      }
      if (given && !given->is_object()) {
        const char* meant = key.name == "node" ? "; did you mean \"nodes\"?" : "";
        given->note(fmt::format("expected an object with members of the cluster file, got {}{}",
                                shown(*given->value()), meant));
        continue;
      }
      if (given) named.overrides.push_back({std::string{key.name}, {}, *given->value()});
    }
    if (in.describes()) {
      (void)read_operating_costs(in);
      return;
    }
    for (const std::string_view key : kCostKeys)
      if (const auto given = in.optional(key))
        named.overrides.push_back({std::string{key}, {}, *given->value()});
    refuse_parameters(in);
  });
  return named;
}

/// With room for the servers: single GPUs on a fabric get extra hosts.
std::optional<ClusterFile> load(const ValueReader& at, const NamedCluster& named, int servers) {
  return or_noted(at.problems(), [&] {
    ClusterFile file = load_named(at, named, named.size);
    if (servers <= file.cluster.auxiliary_ranks()) return file;
    ClusterSize size = named.size;
    size.extra_hosts = servers;
    try {
      return load_named(at, named, size);
    } catch (const ConfigError&) {
      throw ConfigError{Problem{
          at.problems().file(), at.value()->at, at.pointer(),
          fmt::format("{} parameter servers need as many hosts; this cluster has {} CPU sockets",
                      servers, file.cluster.auxiliary_ranks())}};
    }
  });
}

/// The device that the cluster's file names; problems are placed in that file.
std::optional<std::filesystem::path> device_of_file(const std::filesystem::path& cluster,
                                                    const ScenarioFolders& folders) {
  const JsonDocument document = read_json(cluster);
  const auto* root = document.root.get_if<JsonObject>();
  const JsonValue* value = root == nullptr ? nullptr : find_member(*root, "device");
  Problems problems{cluster.string()};
  const ValueReader in_file{value, "/device", problems};
  auto path = find_file(in_file, value == nullptr ? "host" : in_file.string(), "device", "devices",
                        {cluster.parent_path(), folders.configs});
  problems.throw_if_any();
  return path;
}

std::optional<std::filesystem::path> device_path(const ValueReader& at, const NamedCluster& named,
                                                 const std::string& id,
                                                 const ScenarioFolders& folders) {
  std::error_code ignored;
  const auto near = named.path->parent_path() / "../devices" / (id + ".json");
  if (std::filesystem::exists(near, ignored)) return near;
  if (named.gpu) {
    const JsonValue* gpu = find_member(*at.value()->get_if<JsonObject>(), "gpu");
    return find_file({gpu, at.pointer() + "/gpu", at.problems()}, id, "device", "devices", folders);
  }
  const auto found = or_noted(at.problems(), [&] { return device_of_file(*named.path, folders); });
  return found ? *found : std::nullopt;
}

std::optional<Device> find_device(const ValueReader& at, const NamedCluster& named,
                                  const std::string& id, const ScenarioFolders& folders) {
  const auto path = device_path(at, named, id, folders);
  if (!path) return std::nullopt;
  auto device = or_noted(at.problems(), [&] { return load_device(*path); });
  if (!device || device->kind == DeviceKind::kGpu) return device;
  at.note(fmt::format("{} computes nothing: name a \"gpu\" in its place", in_quotes(id)));
  return std::nullopt;
}

/// Ranks may take a part of each rack, which their number alone says; nodes are whole ones.
bool cuts_nodes(const ValueReader& at, const NamedCluster& named, const Cluster& cluster) {
  if (!named.size.ranks || cluster.ranks() <= cluster.gpus_per_node()) return false;
  ClusterSize one;
  one.nodes = 1;
  try {
    return load_named(at, named, one).cluster.gpus_per_node() != cluster.gpus_per_node();
  } catch (const ConfigError&) {
    return true;  // a drawn cluster has its own number of nodes
  }
}

JsonValue resolved_name(const ValueReader& at, const NamedCluster& named, const ClusterFile& file,
                        const Device& device) {
  const bool single = file.cluster.gpus_per_node() == 1;
  JsonValue out = json_object({{"file", json_of(named.name)}});
  auto& members = *std::get_if<JsonObject>(&out.data);
  const bool part_of_node = file.cluster.ranks() < file.cluster.gpus_per_node();
  if (single || part_of_node || cuts_nodes(at, named, file.cluster)) {
    set_member(members, "ranks", json_of(file.cluster.ranks()));
  } else {
    set_member(members, "nodes", json_of(file.cluster.nodes()));
  }
  set_member(members, "gpu", json_of(device.id));
  for (const JsonMember& member : named.overrides) set_member(members, member.key, member.value);
  return out;
}

std::optional<ReadCluster> read_file(const ValueReader& at, int servers,
                                     const ScenarioFolders& folders) {
  const NamedCluster named = read_named(at, folders);
  if (!named.path) return std::nullopt;
  auto file = load(at, named, servers);
  if (!file) return std::nullopt;
  auto device = find_device(at, named, named.gpu.value_or(file->device), folders);
  if (!device) return std::nullopt;
  JsonValue resolved = resolved_name(at, named, *file, *device);
  return ReadCluster{{file->name, std::move(file->cluster), *std::move(device), file->costs},
                     std::move(resolved)};
}

std::optional<ReadCluster> read_figures(const ValueReader& at, int servers,
                                        const ScenarioFolders& folders) {
  const auto figures = at.object([&](ObjectReader& in) { return read_node_figures(in, folders); });
  if (!figures) return std::nullopt;
  try {
    ClusterSize size;
    if (figures->gpus < figures->gpus_per_node || has_unequal_racks(*figures))
      size.ranks = static_cast<int>(figures->gpus);
    ClusterFile file = read_cluster(cluster_document(*figures, folders), size);
    if (servers > file.cluster.auxiliary_ranks()) {
      at.note(
          fmt::format("{} parameter servers need as many hosts; these nodes have {} CPU sockets",
                      servers, file.cluster.auxiliary_ranks()));
    }
    const std::string name = fmt::format("{} x {}", figures->device.id, figures->gpus);
    return ReadCluster{{name, std::move(file.cluster), figures->device}, json_of(*figures)};
  } catch (const ConfigError& error) {
    for (const Problem& problem : error.problems()) at.note(problem.message);
    return std::nullopt;
  }
}

}  // namespace

void describe_scenario_cluster(const ValueReader& at) {
  (void)read_named(at, {});
  (void)at.object([](ObjectReader& in) { return read_node_figures(in, {}); });
}

std::optional<ReadCluster> read_scenario_cluster(const ValueReader& at, int servers,
                                                 const ScenarioFolders& folders) {
  const JsonObject* members = at.value() == nullptr ? nullptr : at.value()->get_if<JsonObject>();
  if (at.is_string() || (members != nullptr && find_member(*members, "file") != nullptr)) {
    return read_file(at, servers, folders);
  }
  if (members != nullptr) return read_figures(at, servers, folders);
  at.refuse(R"(a cluster: the name of one, such as "dgx-h100", or an object)");
  return std::nullopt;
}

}  // namespace lockstep
