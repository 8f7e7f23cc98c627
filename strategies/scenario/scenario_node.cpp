#include "strategies/scenario/scenario_node.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/base/check.hpp"
#include "sim/base/math.hpp"
#include "sim/config/json/json_values.hpp"
#include "topologies/builders/registry.hpp"
#include "topologies/files/cluster_reader.hpp"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMostGpus = 1 << 24;
constexpr std::int64_t kMostPerNode = 256;
constexpr std::int64_t kPcieOf400G = 5;

/// A shipped cluster of nodes whose figures are taken.
struct Reference {
  JsonObject topology{};
  std::optional<JsonValue> fabric{};
  Device device{};
};

std::string text_member(const JsonObject& object, std::string_view key) {
  const JsonValue* value = find_member(object, key);
  const auto* text = value == nullptr ? nullptr : value->get_if<std::string>();
  return text == nullptr ? "" : *text;
}

const JsonObject* object_member(const JsonObject& object, std::string_view key) {
  const JsonValue* value = find_member(object, key);
  return value == nullptr ? nullptr : value->get_if<JsonObject>();
}

/// Empty where the file is no cluster of nodes of GPUs.
std::optional<Reference> read_reference(const fs::path& path, const fs::path& devices) {
  const JsonDocument document = read_json(path);
  const auto* root = document.root.get_if<JsonObject>();
  const JsonObject* topology = root == nullptr ? nullptr : object_member(*root, "topology");
  if (topology == nullptr || object_member(*topology, "pcie") == nullptr) return std::nullopt;
  const fs::path device = devices / (text_member(*root, "device") + ".json");
  std::error_code ignored;
  if (!fs::exists(device, ignored)) return std::nullopt;
  Reference reference{*topology, std::nullopt, load_device(device)};
  if (const JsonValue* fabric = find_member(*root, "fabric")) reference.fabric = *fabric;
  return reference;
}

bool same_links(const Device& a, const Device& b) {
  if (!a.peer_links || !b.peer_links) return !a.peer_links && !b.peer_links;
  return a.peer_links->bandwidth == b.peer_links->bandwidth;
}

/// How well a reference suits; 0: not at all.
int suits(const Reference& reference, const NodeFigures& figures) {
  const bool rack = text_member(reference.topology, "builder") == "nvl72";
  const Device& device = reference.device;
  if (figures.intra == "nvl72" && rack)
    return device.id == figures.device.id ? 3 : same_links(device, figures.device) ? 2 : 1;
  if (figures.intra == "nvl72") return 0;
  if (device.id == figures.device.id) return 3;
  const bool same_pcie = device.pcie_generation == figures.device.pcie_generation;
  if (!same_pcie) return 0;
  return same_links(device, figures.device) ? 2 : 1;
}

Reference find_reference(const NodeFigures& figures, const ScenarioFolders& folders) {
  std::optional<Reference> best;
  int most = 0;
  for (const std::string& id : device_ids(folders.configs / "clusters")) {
    auto candidate =
        read_reference(folders.configs / "clusters" / (id + ".json"), folders.configs / "devices");
    const int value = candidate ? suits(*candidate, figures) : 0;
    if (value <= most) continue;
    most = value;
    best = std::move(candidate);
  }
  if (best) return *std::move(best);
  throw ConfigError{Problem{(folders.configs / "clusters").string(),
                            {},
                            "",
                            "no cluster here has figures for nodes of \"" + figures.device.id +
                                "\"; describe them in a cluster file"}};
}

/// Transports of the shipped clusters, by the device that is nearest.
std::optional<JsonValue> shipped_transport(const NodeFigures& figures,
                                           const ScenarioFolders& folders) {
  std::optional<JsonValue> out;
  int most = 0;
  for (const std::string& id : device_ids(folders.configs / "clusters")) {
    const JsonDocument document = read_json(folders.configs / "clusters" / (id + ".json"));
    const auto* root = document.root.get_if<JsonObject>();
    const JsonObject* fabric = root == nullptr ? nullptr : object_member(*root, "fabric");
    const JsonObject* transport = fabric == nullptr ? nullptr : object_member(*fabric, "transport");
    if (transport == nullptr || text_member(*transport, "name") != figures.fabric) continue;
    const Device device =
        load_device(folders.configs / "devices" / (text_member(*root, "device") + ".json"));
    const int value = device.id == figures.device.id                             ? 3
                      : device.pcie_generation == figures.device.pcie_generation ? 2
                                                                                 : 1;
    if (value <= most) continue;
    most = value;
    out = JsonValue{{}, *transport};
  }
  return out;
}

/// That of the shipped clusters, else one that adds nothing; none for InfiniBand.
std::optional<JsonValue> transport_json(const NodeFigures& figures,
                                        const ScenarioFolders& folders) {
  if (figures.fabric == "infiniband") return std::nullopt;
  if (auto shipped = shipped_transport(figures, folders)) return shipped;
  return json_object({{"name", json_of(figures.fabric)},
                      {"latency", json_of("0 ns")},
                      {"source", json_of("not known: as InfiniBand")}});
}

bool is_direct(const Reference& reference) {
  const std::string builder = text_member(reference.topology, "builder");
  return builder == "dgx1" || builder == "summit";
}

JsonValue with(const JsonObject& link, std::string_view key, JsonValue value) {
  JsonObject changed = link;
  set_member(changed, key, std::move(value));
  return {{}, std::move(changed)};
}

JsonValue rate_json(double bytes_per_second) {
  return json_of(fmt::format("{:.0f} B/s", bytes_per_second));
}

/// Cables of `links` NVLinks each, through a switch or from GPU to GPU.
JsonValue nvlink_json(const Reference& reference, const Device& device, std::int64_t links,
                      bool through_switch) {
  const JsonObject* figures = object_member(reference.topology, "nvlink");
  if (figures == nullptr) figures = object_member(reference.topology, "pcie");
  LOCKSTEP_CHECK(figures != nullptr);
  const JsonObject& link = *figures;
  const Rate one = device.peer_links ? device.peer_links->bandwidth : Rate::bytes_per_second(1);
  const bool halve = through_switch && is_direct(reference);
  const bool twice = !through_switch && !is_direct(reference);
  const Duration told = parse_duration(text_member(link, "latency")).value_or(Duration{});
  const std::int64_t ps = halve ? told.ps() / 2 : twice ? told.ps() * 2 : told.ps();
  const JsonValue wide =
      with(link, "bandwidth", rate_json(one.bytes_per_second() * static_cast<double>(links)));
  return with(*wide.get_if<JsonObject>(), "latency", json_of(fmt::format("{} ps", ps)));
}

std::int64_t nics_of(const NodeFigures& figures) {
  return std::min(figures.nics_per_node, figures.gpus_per_node);
}

std::int64_t gpu_pcie(const NodeFigures& figures, const Reference& reference);
std::int64_t nic_pcie(const NodeFigures& figures, const Reference& reference);

/// As the reference's own node: its builder fits.
bool like_reference(const NodeFigures& figures, const Reference& reference) {
  const std::string builder = text_member(reference.topology, "builder");
  if (figures.intra == "nvl72") return builder == "nvl72";
  if (nic_pcie(figures, reference) != gpu_pcie(figures, reference)) return false;
  const bool eight = figures.gpus_per_node == 8 && nics_of(figures) == 8;
  if (figures.intra == "nvswitch") return eight && (builder == "dgx_a100" || builder == "dgx_h100");
  // Eight with six links each cannot be joined in pairs: they are DGX-1's cube, with its four NICs.
  const bool cube = figures.gpus_per_node == 8 && builder == "dgx1";
  return figures.intra == "nvlink-mesh" && cube;
}

/// Generation of the GPUs' PCIe; of the reference's where the device has none.
std::int64_t gpu_pcie(const NodeFigures& figures, const Reference& reference) {
  if (figures.pcie > 0) return figures.pcie;
  return figures.device.pcie_generation.value_or(
      reference.device.pcie_generation.value_or(kPcieOf400G));
}

/// Of the NICs': that of the GPUs, but a NIC above 400 Gb/s has PCIe 6 (ConnectX-8).
std::int64_t nic_pcie(const NodeFigures& figures, const Reference& reference) {
  const std::int64_t gpus = gpu_pcie(figures, reference);
  if (figures.pcie > 0 || figures.nic_gbps <= 400) return gpus;
  return std::max<std::int64_t>(gpus, kPcieOf400G + 1);
}

/// 16 lanes of a generation: 16 GB/s of generation 3, doubled by each further one.
JsonValue pcie_json(const Reference& reference, std::int64_t generation) {
  const JsonValue& own = *find_member(reference.topology, "pcie");
  if (reference.device.pcie_generation == generation) return own;
  const double rate = 2e9 * static_cast<double>(std::int64_t{1} << generation);
  return with(*own.get_if<JsonObject>(), "bandwidth", rate_json(rate));
}

JsonValue reference_topology(const NodeFigures& figures, const Reference& reference) {
  JsonObject topology = reference.topology;
  set_member(topology, "pcie", pcie_json(reference, gpu_pcie(figures, reference)));
  const bool part = figures.intra == "nvl72" && figures.gpus_per_node != kGpusOfRack;
  if (part && !has_unequal_racks(figures))
    set_member(topology, "gpus", json_of(figures.gpus_per_node));
  const std::int64_t links = figures.device.peer_links ? figures.device.peer_links->count : 0;
  if (links > 0 && !is_direct(reference)) {
    set_member(topology, "nvlink", nvlink_json(reference, figures.device, links, true));
  }
  return {{}, std::move(topology)};
}

/// A node's vertices and cables, one by one.
class NodeWriter {
 public:
  void vertices(std::string_view kind, std::int64_t count, std::int64_t rails = 0) {
    for (std::int64_t i = 0; i < count; ++i) {
      JsonValue vertex =
          json_object({{"id", json_of(fmt::format("{}{}", kind, i))}, {"kind", json_of(kind)}});
      if (rails > 0) {
        set_member(*std::get_if<JsonObject>(&vertex.data), "rail", json_of(i * rails / count));
      }
      vertices_.push_back(std::move(vertex));
    }
  }

  void cable(const std::string& from, const std::string& to, std::string_view kind,
             const JsonValue& link) {
    JsonObject out;
    set_member(out, "between", json_of({json_of(from), json_of(to)}));
    set_member(out, "kind", json_of(kind));
    for (const JsonMember& member : *link.get_if<JsonObject>()) out.push_back(member);
    cables_.push_back({{}, std::move(out)});
  }

  [[nodiscard]] JsonValue node() && {
    return json_object(
        {{"vertices", json_of(std::move(vertices_))}, {"cables", json_of(std::move(cables_))}});
  }

 private:
  std::vector<JsonValue> vertices_{};
  std::vector<JsonValue> cables_{};
};

std::string numbered(std::string_view kind, std::int64_t index) {
  return fmt::format("{}{}", kind, index);
}

void write_nvlinks(NodeWriter& node, const NodeFigures& figures, const Reference& reference) {
  const std::int64_t gpus = figures.gpus_per_node;
  const std::int64_t links = figures.device.peer_links ? figures.device.peer_links->count : 0;
  if (figures.intra == "nvswitch") {
    const JsonValue link = nvlink_json(reference, figures.device, links, true);
    for (std::int64_t g = 0; g < gpus; ++g) {
      node.cable(numbered("gpu", g), "nvswitch0", "nvlink", link);
    }
  }
  if (figures.intra == "nvlink-mesh" && gpus > 1) {
    const JsonValue link = nvlink_json(reference, figures.device, links / (gpus - 1), false);
    for (std::int64_t a = 0; a < gpus; ++a) {
      for (std::int64_t b = a + 1; b < gpus; ++b) {
        node.cable(numbered("gpu", a), numbered("gpu", b), "nvlink", link);
      }
    }
  }
}

JsonValue written_node(const NodeFigures& figures, const Reference& reference) {
  const std::int64_t gpus = figures.gpus_per_node;
  const std::int64_t nics = nics_of(figures);
  const std::int64_t switches = std::max<std::int64_t>(2, nics);
  const JsonValue pcie = pcie_json(reference, gpu_pcie(figures, reference));
  const JsonValue of_nics = pcie_json(reference, nic_pcie(figures, reference));
  const JsonValue* sockets = find_member(reference.topology, "cpu");
  NodeWriter node;
  node.vertices("gpu", gpus, nics);
  if (figures.intra == "nvswitch") node.vertices("nvswitch", 1);
  node.vertices("pcie_switch", switches);
  node.vertices("cpu", 2);
  node.vertices("nic", nics, nics);
  write_nvlinks(node, figures, reference);
  for (std::int64_t g = 0; g < gpus; ++g) {
    node.cable(numbered("gpu", g), numbered("pcie_switch", g * switches / gpus), "pcie", pcie);
  }
  for (std::int64_t n = 0; n < nics; ++n) {
    node.cable(numbered("nic", n), numbered("pcie_switch", n * switches / nics), "pcie", of_nics);
  }
  for (std::int64_t s = 0; s < switches; ++s) {
    node.cable(numbered("pcie_switch", s), numbered("cpu", s * 2 / switches), "pcie", pcie);
  }
  node.cable("cpu0", "cpu1", "cpu", sockets != nullptr ? *sockets : pcie);
  return std::move(node).node();
}

std::optional<JsonValue> fabric_json(const NodeFigures& figures, const Reference& reference,
                                     const ScenarioFolders& folders) {
  if (!reference.fabric) return std::nullopt;
  JsonObject fabric = *reference.fabric->get_if<JsonObject>();
  std::erase_if(fabric, [](const JsonMember& member) { return member.key == "transport"; });
  if (auto transport = transport_json(figures, folders))
    set_member(fabric, "transport", *std::move(transport));
  const JsonObject* link = object_member(fabric, "link");
  const double share =
      static_cast<double>(figures.nics_per_node) / static_cast<double>(nics_of(figures));
  if (link != nullptr && figures.nic_gbps > 0) {
    JsonValue given = with(*link, "bandwidth", rate_json(figures.nic_gbps * share * 125e6));
    auto& members = *std::get_if<JsonObject>(&given.data);
    const JsonValue* tag = find_member(*link, "provenance");
    if (tag != nullptr && find_member(*link, "latency_provenance") == nullptr)
      set_member(members, "latency_provenance", *tag);
    set_member(members, "provenance", json_of("assumed"));
    set_member(fabric, "link", std::move(given));
  }
  return JsonValue{{}, std::move(fabric)};
}

/// gpus fill nodes, or are part of one.
void check_counts(ObjectReader& in, const NodeFigures& figures) {
  const std::int64_t whole = figures.gpus_per_node;
  const bool of_racks = figures.intra == "nvl72" && !in.optional("gpus_per_node");
  const bool unequal = figures.gpus > whole && figures.gpus % whole != 0;
  if (unequal && of_racks && figures.gpus % kGpusOfTray != 0) {
    const std::int64_t below = figures.gpus / kGpusOfTray * kGpusOfTray;
    in.note("gpus", fmt::format("{} GPUs are not whole trays of {}; use {} or {}", figures.gpus,
                                kGpusOfTray, below, below + kGpusOfTray));
  } else if (unequal && !has_unequal_racks(figures)) {
    in.note("gpus",
            fmt::format("{} GPUs are not a multiple of {} per node; use {} or {}", figures.gpus,
                        whole, figures.gpus / whole * whole, (figures.gpus / whole + 1) * whole));
  }
  if (figures.intra == "nvl72" && (whole > kGpusOfRack || whole % 4 != 0)) {
    in.note("gpus_per_node",
            fmt::format("a job takes whole trays of 4 GPUs of a rack of 72, got {}", whole));
  } else if (const std::int64_t most = rack_gpus(figures.gpus);
             figures.intra == "nvl72" && whole < std::min(figures.gpus, most) &&
             whole < kGpusOfRack / 2) {
    // Tables of runs say 4, the GPUs of a tray: those of a rack are one NVLink domain.
    in.note("gpus_per_node",
            fmt::format("{} of each rack spread {} GPUs over {} racks; leave it out: one rack has "
                        "up to {} of them",
                        whole, figures.gpus, figures.gpus / whole, std::min(figures.gpus, most)));
  }
}

void check_links(ObjectReader& in, const NodeFigures& figures) {
  const std::int64_t links = figures.device.peer_links ? figures.device.peer_links->count : 0;
  const bool mesh = figures.intra == "nvlink-mesh";
  if (links == 0 && (mesh || figures.intra == "nvswitch")) {
    in.note("intra", fmt::format("\"{}\" has no links to other GPUs: only \"pcie\" is possible",
                                 figures.device.id));
  } else if (mesh && figures.gpus_per_node - 1 > links && figures.gpus_per_node != 8) {
    in.note("intra", fmt::format("GPUs with {} links each reach at most {} others directly; "
                                 "gpus_per_node up to {}, or \"nvswitch\"",
                                 links, links, links + 1));
  }
}

/// Of a rack's GPUs the rack, unless nodes of another size are asked for.
std::string default_intra(const Device& device, bool sized) {
  if (!sized && device.id.find("nvl72") != std::string::npos) return "nvl72";
  if (!device.peer_links) return "pcie";
  return device.peer_links->kind == "nvlink" ? "nvswitch" : "nvlink-mesh";
}

}  // namespace

bool has_unequal_racks(const NodeFigures& figures) {
  return figures.intra == "nvl72" && figures.gpus > kGpusOfRack &&
         figures.gpus % kGpusOfTray == 0 && figures.gpus % figures.gpus_per_node != 0 &&
         figures.gpus_per_node == rack_gpus(figures.gpus);
}

std::optional<NodeFigures> read_node_figures(ObjectReader& in, const ScenarioFolders& folders) {
  NodeFigures figures;
  const ValueReader gpu = in.required({"gpu", "Device of configs/devices"});
  const std::string name = gpu.string();
  const auto file =
      in.describes() ? std::nullopt : find_file(gpu, name, "device", "devices", folders);
  auto device =
      file ? or_noted(in.self().problems(), [&] { return load_device(*file); }) : std::nullopt;
  if (device) figures.device = *std::move(device);
  figures.gpus = in.integer({"gpus",
                             "Number of GPUs, a multiple of gpus_per_node; of nvl72 any number of "
                             "whole trays of 4"},
                            1, kMostGpus);
  figures.intra =
      in.one_of({"intra", "Links between the GPUs of a node (default: by the device)"},
                "way to join the GPUs of a node", {"nvswitch", "nvlink-mesh", "nvl72", "pcie"},
                default_intra(figures.device, in.optional("gpus_per_node").has_value()));
  figures.pcie = in.optional_integer({"pcie",
                                      "PCIe generation of GPUs and NICs, 16 lanes; by default the "
                                      "device's, and 6 of NICs above 400 Gb/s"},
                                     3, 7)
                     .value_or(0);
  const std::int64_t most =
      figures.intra == "nvl72" ? rack_gpus(figures.gpus) : std::min<std::int64_t>(8, figures.gpus);
  figures.gpus_per_node =
      in.integer({"gpus_per_node",
                  "GPUs per node (default: 8; with nvl72 the most that the job takes of a rack: "
                  "whole trays of 4 in the fewest racks, equally many of each if possible)"},
                 1, kMostPerNode, most);
  figures.nics_per_node = in.integer({"nics_per_node", "NICs per node (default: one per GPU)"}, 1,
                                     kMostPerNode, figures.gpus_per_node);
  figures.nic_gbps =
      in.optional_number(
            {"nic_gbps", "Speed of one NIC in Gb/s (default: that of the reference cluster)"}, 1,
            1e5)
          .value_or(0);
  figures.fabric = in.one_of({"fabric", "Network between nodes"}, "fabric",
                             {kTransportNames.begin(), kTransportNames.end()}, "infiniband");
  in.refine(
      "description",
      R"("Cluster from a few parameters; configs/scenarios/README.md lists how the others are derived")");
  if (!file || figures.device.id.empty()) return std::nullopt;
  check_counts(in, figures);
  check_links(in, figures);
  return in.self().problems().any() ? std::nullopt : std::optional{figures};
}

JsonValue json_of(const NodeFigures& figures) {
  JsonValue out = json_object({{"gpu", json_of(figures.device.id)},
                               {"gpus", json_of(figures.gpus)},
                               {"gpus_per_node", json_of(figures.gpus_per_node)},
                               {"intra", json_of(figures.intra)},
                               {"nics_per_node", json_of(figures.nics_per_node)}});
  auto& members = *std::get_if<JsonObject>(&out.data);
  if (figures.nic_gbps > 0) set_member(members, "nic_gbps", json_of(figures.nic_gbps));
  if (figures.pcie > 0) set_member(members, "pcie", json_of(figures.pcie));
  set_member(members, "fabric", json_of(figures.fabric));
  return out;
}

JsonDocument cluster_document(const NodeFigures& figures, const ScenarioFolders& folders) {
  const Reference reference = find_reference(figures, folders);
  const std::int64_t nodes =
      std::max<std::int64_t>(1, ceil_div(figures.gpus, figures.gpus_per_node));
  JsonObject root;
  set_member(root, "name", json_of(figures.device.id));
  set_member(root, "device", json_of(figures.device.id));
  if (like_reference(figures, reference)) {
    set_member(root, "topology", reference_topology(figures, reference));
  } else {
    set_member(root, "node", written_node(figures, reference));
  }
  set_member(root, "nodes", json_of(nodes));
  if (auto fabric = fabric_json(figures, reference, folders))
    set_member(root, "fabric", *std::move(fabric));
  return {"cluster", {{}, std::move(root)}};
}

}  // namespace lockstep
