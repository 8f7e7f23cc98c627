#include "topologies/import/import.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "sim/config/did_you_mean.hpp"
#include "topologies/import/machine/known_gpus.hpp"
#include "topologies/import/machine/link_constants.hpp"
#include "topologies/import/machine/machine_json.hpp"
#include "topologies/import/machine/machine_rules.hpp"
#include "topologies/import/machine/rate_text.hpp"
#include "topologies/import/machine/text_places.hpp"
#include "topologies/import/nccl/nccl_machine.hpp"
#include "topologies/import/smi/smi_machine.hpp"

namespace lockstep {
namespace {

constexpr std::size_t kLargest = std::size_t{8} << 20U;  // bytes
constexpr std::size_t kMostPlaces = 512;  // GPUs and CPUs of a node, as cluster files have it

[[noreturn]] void refuse(const std::string& file, Position at, std::string message) {
  throw ConfigError{Problem{file, at, "", std::move(message)}};
}

/// rocm-smi --showtopo and amd-smi topology print several tables with the headings of nvidia-smi's.
void refuse_amd_tables(std::string_view text, const std::string& file) {
  for (const std::string_view word :
       {"XGMI", "ROCm System Management Interface", "between two GPUs", "ACCESS TABLE"}) {
    const auto found = text.find(word);
    if (found == text.npos) continue;
    refuse(
        file, TextPlaces{text}.at(found),
        "these are tables of rocm-smi or amd-smi: expected an NCCL topology; RCCL writes that of "
        "AMD's GPUs where NCCL_TOPO_DUMP_FILE names a file");
  }
}

Machine read_machine(std::string_view text, const std::string& file, const ImportOptions& options) {
  if (text.size() > kLargest)
    refuse(file, {}, "larger than 8 MiB, which no topology of a machine is");
  const auto first = text.find_first_not_of("\xEF\xBB\xBF \t\r\n");
  const bool is_xml = first != text.npos && text[first] == '<';
  if (is_xml)
    return machine_of(read_nccl_xml(text, file, options.nic_speed.has_value()), file,
                      options.device);
  refuse_amd_tables(text, file);
  if (looks_like_smi(text)) return machine_of(read_smi_matrix(text, file), options.device);
  const std::string_view start =
      first == text.npos ? "" : text.substr(first, text.find_first_of("\r\n", first) - first);
  refuse(file, {1, 1},
         "expected an NCCL topology (XML, <system>) or what `nvidia-smi topo -m` prints, got " +
             (start.empty() ? std::string{"nothing"} : in_quotes(start)));
}

// --- what the options ask for

void take_device(Machine& machine, const ImportOptions& options) {
  if (options.device) {
    machine.device = options.device->id;
    machine.device_assumed = false;
  }
  if (machine.device.empty())
    machine.notes.push_back("GPU model not in file; specify it with --device");
  if (machine.device_assumed && !machine.device.empty())
    machine.notes.push_back(
        fmt::format("assuming the GPUs are {} (override with --device)", machine.device));
}

bool has_nvlink(const Machine& machine) {
  return std::ranges::any_of(
      machine.cables, [](const MachineCable& cable) { return cable.kind == LinkKind::nvlink; });
}

/// Its GPUs first: the vertices of a kind keep their order.
void add_nvswitch(Machine& machine, int links) {
  const KnownGpu* known = gpu_of_device(machine.device);
  const int capability = known != nullptr ? known->compute_capability : 0;
  const auto gpus = machine.of_kind(VertexKind::gpu);
  const std::size_t nvswitch = machine.add({VertexKind::nvswitch, "as asked for"});
  for (const std::size_t gpu : gpus) {
    machine.join(gpu, nvswitch, LinkKind::nvlink,
                 nvlink_of(capability, links, NvlinkEnd::nvswitch));
  }
}

void settle_nvlink(Machine& machine, const ImportOptions& options) {
  if (options.nvswitch_links) {
    if (has_nvlink(machine)) throw ImportError("--nvswitch: the file specifies the NVLinks itself");
    add_nvswitch(machine, *options.nvswitch_links);
    return;
  }
  if (!has_nvlink(machine) && machine.of_kind(VertexKind::gpu).size() > 1)
    machine.notes.push_back(
        "no NVLink in file: GPUs are joined by PCIe alone; --nvswitch LINKS (A100: 12, "
        "H100: 18) gives them one");
}

std::optional<NicSpeed> asked_for(const ImportOptions& options) {
  if (!options.nic_speed) return std::nullopt;
  constexpr Rate kLeast = Rate::bytes_per_second(125'000);
  if (*options.nic_speed < kLeast)
    throw ImportError("--nic-speed: expected at least 1 Mb/s, got " +
                      to_string(*options.nic_speed));
  return NicSpeed{*options.nic_speed, network_rate_text(*options.nic_speed) + ", as asked for",
                  false};
}

void settle_speeds(Machine& machine, const ImportOptions& options) {
  const auto nics = machine.of_kind(VertexKind::nic);
  if (const auto speed = asked_for(options)) {
    if (nics.empty()) add_nics(machine, *speed);
    return;
  }
  if (nics.empty()) {
    machine.notes.push_back(
        "there is no NIC: the cluster is this one node; --nic-speed gives every GPU one");
    return;
  }
  const auto assumed = std::ranges::find_if(
      nics, [&](std::size_t nic) { return machine.vertices[nic].speed->assumed; });
  if (assumed == nics.end()) return;
  machine.notes.push_back(
      fmt::format("NIC speed not in file; assuming {} (override with --nic-speed)",
                  machine.vertices[*assumed].speed->source));
}

// --- several machines

/// How many there are of everything: what must be alike.
std::vector<std::size_t> shape_of(const Machine& machine) {
  std::vector<std::size_t> shape;
  for (std::size_t kind = 0; kind < kVertexKindNames.size(); ++kind)
    shape.push_back(machine.of_kind(static_cast<VertexKind>(kind)).size());
  for (std::size_t kind = 0; kind < kLinkKindNames.size(); ++kind)
    shape.push_back(static_cast<std::size_t>(
        std::ranges::count(machine.cables, static_cast<LinkKind>(kind), &MachineCable::kind)));
  return shape;
}

struct Machines {
  Machine first;
  int count = 1;
};

Machines alike(const Machine& whole, const std::string& file) {
  auto parts = connected_components(whole);
  for (const Machine& part : parts) {
    if (shape_of(part) == shape_of(parts.front())) continue;
    refuse(file, {1, 1},
           fmt::format("the file holds {} machines that nothing joins and that differ: expected "
                       "one, or several alike",
                       parts.size()));
  }
  Machines out{std::move(parts.front()), static_cast<int>(parts.size())};
  if (out.count > 1)
    out.first.notes.push_back(fmt::format(
        "the file holds {} machines that nothing joins: written as {} nodes like the first",
        out.count, out.count));
  return out;
}

// --- the fabric

/// Rails where every GPU has a NIC of its own.
std::string fitting_fabric(const Machine& machine) {
  const std::size_t nics = machine.of_kind(VertexKind::nic).size();
  return nics > 1 && nics == machine.of_kind(VertexKind::gpu).size() ? "rail_optimised"
                                                                     : "fat_tree";
}

void check_fabric(const ImportOptions& options) {
  const auto& names = import_fabrics();
  if (options.fabric.empty() || std::ranges::find(names, options.fabric) != names.end()) return;
  const auto meant = did_you_mean(options.fabric, names);
  throw ImportError(fmt::format("--fabric: expected one of {}, got {}{}", fmt::join(names, ", "),
                                in_quotes(options.fabric),
                                meant ? fmt::format("; did you mean {}?", in_quotes(*meant)) : ""));
}

void check_places(const Machine& machine, const std::string& file) {
  const std::size_t places =
      machine.of_kind(VertexKind::gpu).size() + machine.of_kind(VertexKind::cpu).size();
  if (places > kMostPlaces)
    refuse(
        file, {1, 1},
        fmt::format("a node holds at most {} GPUs and CPUs together, got {}", kMostPlaces, places));
}

/// "4 GPUs on NVLink, 4 CPUs, 4 NICs".
std::string outline_of(const Machine& machine) {
  const auto counted = [&machine](VertexKind kind, std::string_view one, std::string_view several) {
    const std::size_t count = machine.of_kind(kind).size();
    return count == 0 ? "" : fmt::format(", {} {}", count, count == 1 ? one : several);
  };
  std::string text = counted(VertexKind::gpu, "GPU", "GPUs").substr(2);
  const bool switched = !machine.of_kind(VertexKind::nvswitch).empty();
  if (has_nvlink(machine))
    text += switched ? " on NVSwitches" : machine.xgmi ? " on xGMI" : " on NVLink";
  return text + counted(VertexKind::pcie_switch, "PCIe switch", "PCIe switches") +
         counted(VertexKind::cpu, "CPU", "CPUs") + counted(VertexKind::nic, "NIC", "NICs");
}

std::vector<int> settle_rails_of(Machine& machine, const ImportOptions& options,
                                 const std::string& file) {
  try {
    return settle_nics(machine, asked_for(options));
  } catch (const OutOfRange& error) {  // NICs beyond 140 TB/s taken as one
    refuse(file, {1, 1},
           std::string{error.what()} +
               " once several NICs count as one; --nic-speed specifies that of each");
  } catch (const ImportError& error) {
    refuse(file, {1, 1}, error.what());
  }
}

}  // namespace

const std::vector<std::string_view>& import_fabrics() {
  static const std::vector<std::string_view> names{"rail_optimised", "fat_tree", "star"};
  return names;
}

ImportedCluster import_topology(std::string_view text, const std::string& file,
                                const ImportOptions& options) {
  check_fabric(options);
  Machine whole = read_machine(text, file, options);
  take_device(whole, options);
  auto [machine, count] = alike(whole, file);
  settle_nvlink(machine, options);
  check_places(machine, file);
  settle_speeds(machine, options);
  const auto rails = settle_rails_of(machine, options, file);
  const auto nics = machine.of_kind(VertexKind::nic);

  ImportedCluster out;
  out.outline = outline_of(machine);
  ClusterHead head{
      options.name,
      out.outline + ", imported from " + std::filesystem::path(file).filename().string(),
      machine.device,
      nics.empty() ? 1 : count,
      "",
      {}};
  if (!nics.empty()) {
    const NicSpeed& speed = *machine.vertices[nics.front()].speed;
    head.fabric = options.fabric.empty() ? fitting_fabric(machine) : options.fabric;
    head.link = network_link(speed.rate, speed.source);
    if (speed.assumed) head.link->figures.provenance = Provenance::assumed;
    out.outline += fmt::format("; fabric {} of {}", head.fabric, network_rate_text(speed.rate));
  }
  out.json = cluster_json(head, machine, rails);
  out.notes = std::move(machine.notes);
  return out;
}

}  // namespace lockstep
