#include "topologies/import/nccl/nccl_machine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "topologies/import/machine/known_gpus.hpp"
#include "topologies/import/nccl/nccl_links.hpp"
#include "topologies/import/nccl/nccl_nics.hpp"

namespace lockstep {
namespace {

constexpr std::string_view kHiddenSwitch = "fffffff:ff:ff.0";  // NVSwitches that a VM does not see
constexpr int kDefaultPcie = 3;    // NCCL's fallback, 60 in kvDictPciGen
constexpr int kDefaultLanes = 16;  // NCCL's, where link_width is 0

/// What orders vertices of a kind: host, then number, then bus id.
using Order = std::tuple<std::size_t, std::int64_t, std::string>;

struct FoundGpu {
  const NcclPci* pci;
  std::size_t vertex;
  std::size_t cpu;    // vertex
  std::size_t cable;  // to what is above it on PCIe
  std::size_t host;
};

class Builder {
 public:
  Builder(const NcclTopology& topology, const std::string& file,
          const std::optional<Device>& device)
      : topology_{topology}, problems_{file}, device_{device} {}

  Machine build() {
    machine_.notes = topology_.notes;
    find_whether_numbered();
    for (const NcclCpuElement& cpu : topology_.cpus) add_cpu(cpu);
    add_nics();
    join_cpus();
    for (const FoundGpu& gpu : gpus_) add_links(gpu);
    note_links_to_themselves();
    settle_direct_links();
    add_pci_links();
    settle_device();
    note_assumptions();
    if (gpus_.empty() && !problems_.any())
      problems_.note({1, 1}, "", "there is no GPU: expected <pci class=\"0x030200\"> or <gpu>");
    problems_.throw_if_any();
    return sorted();
  }

 private:
  // --- PCI

  /// Numbers order GPUs (or NICs) only where every one has its own.
  void find_whether_numbered() {
    for (const NcclCpuElement& cpu : topology_.cpus) {
      for (const NcclNet& net : cpu.nets) nets_numbered_ &= net.dev.has_value();
      for (const NcclPci& pci : cpu.below) find_numbers(pci);
    }
  }
  void find_numbers(const NcclPci& pci) {
    if (pci.kind == PciKind::gpu) gpus_numbered_ &= pci.gpu && pci.gpu->dev;
    if (pci.kind == PciKind::nic && pci.nets.empty()) nets_numbered_ = false;
    for (const NcclNet& net : pci.nets) nets_numbered_ &= net.dev.has_value();
    for (const NcclPci& below : pci.below) find_numbers(below);
  }

  std::size_t add(MachineVertex vertex, std::int64_t number, const std::string& bus_id) {
    orders_.emplace_back(host_, number, bus_id);
    vertex.host = host_;
    return machine_.add(std::move(vertex));
  }

  void add_cpu(const NcclCpuElement& cpu) {
    host_ = hosts_.try_emplace(cpu.host, hosts_.size()).first->second;
    const std::string numa =
        cpu.numa && *cpu.numa >= 0 ? fmt::format("NUMA node {}", *cpu.numa) : "";
    const auto vertex = add({VertexKind::cpu, numa}, cpu.numa.value_or(0), "");
    cpus_.push_back({&cpu, vertex, host_});
    cpu_ = vertex;
    for (const NcclPci& pci : cpu.below) add_pci(pci, vertex);
    for (const NcclNet& net : cpu.nets)
      nics_.add({host_, "", vertex, local_link(Duration::picoseconds(500'000)), false}, {net});
  }

  void join_cpus() {
    for (std::size_t a = 0; a < cpus_.size(); ++a) {
      for (std::size_t b = a + 1; b < cpus_.size(); ++b) {
        if (cpus_[a].host != cpus_[b].host) continue;
        machine_.join(cpus_[a].vertex, cpus_[b].vertex, LinkKind::cpu,
                      link_between(cpus_[a].cpu->model));
      }
    }
  }

  SourcedLink pcie_link(const NcclPci& pci) {
    const auto generation = pcie_generation(pci.link_speed);
    if (!generation) ++without_speed_;
    const std::int64_t width = pci.link_width.value_or(0);
    const bool known = width >= 1 && width <= 32;
    if (known) return pcie_of(generation.value_or(kDefaultPcie), static_cast<int>(width));
    return pcie_of(generation.value_or(kDefaultPcie), kDefaultLanes);
  }

  void add_pci(const NcclPci& pci, std::size_t above) {
    switch (pci.kind) {
      case PciKind::gpu:
        return add_gpu(pci, above);
      case PciKind::nic:
        return nics_.add({host_, pci.bus_id, above, pcie_link(pci)}, pci.nets);
      case PciKind::bridge:
        return add_bridge(pci, above);
      case PciKind::nvswitch:
        nvswitches_.insert(pci.bus_id);
        return;
      case PciKind::other:
        return;
    }
  }

  void add_bridge(const NcclPci& pci, std::size_t above) {
    const auto vertex = add({VertexKind::pcie_switch, pci.bus_id}, 0, "");
    bridges_.try_emplace({host_, pci.bus_id}, vertex);
    if (!pci.links_to.empty()) linked_.push_back({&pci, vertex, host_});
    machine_.join(vertex, above, LinkKind::pcie, pcie_link(pci));
    for (const NcclPci& below : pci.below) add_pci(below, vertex);
  }

  void add_gpu(const NcclPci& pci, std::size_t above) {
    const std::int64_t number = gpus_numbered_ ? *pci.gpu->dev : 0;
    const auto vertex = add({VertexKind::gpu, pci.bus_id}, number, pci.bus_id);
    const bool is_new =
        pci.bus_id.empty() || by_bus_.try_emplace({host_, pci.bus_id}, gpus_.size()).second;
    if (!is_new)
      problems_.note(pci.at, "", "busid: there is a GPU at " + in_quotes(pci.bus_id) + " already");
    machine_.join(vertex, above, LinkKind::pcie, pcie_link(pci));
    gpus_.push_back({&pci, vertex, cpu_, machine_.cables.size() - 1, host_});
    for (const NcclPci& below : pci.below) add_pci(below, above);  // nobody has seen that
  }

  void add_nics() {
    for (FoundNic& nic : nics_.take(machine_.notes)) {
      host_ = nic.place.host;
      MachineVertex vertex{VertexKind::nic, std::move(nic.source)};
      vertex.speed = std::move(nic.speed);
      const auto added = add(std::move(vertex), nets_numbered_ ? nic.dev : 0, nic.place.bus_id);
      machine_.join(added, nic.place.above, LinkKind::pcie, std::move(nic.place.link));
    }
  }

  // --- NVLink

  void add_links(const FoundGpu& gpu) {
    if (!gpu.pci->gpu) return;
    const NcclGpu& told = *gpu.pci->gpu;
    std::int64_t to_switch = 0;
    std::int64_t to_cpu = 0;
    for (const NcclNvlink& link : told.links) {
      switch (end_of(gpu, link)) {
        case PciKind::nvswitch:
          to_switch += link.count;
          break;
        case PciKind::gpu:
          keep_direct(gpu, link);
          break;
        case PciKind::bridge:
          to_cpu += link.count;
          break;
        default:
          machine_.notes.push_back(
              fmt::format("{}:{}: a link to {}, which is not in the file, was left out",
                          link.at.line, link.at.column, in_quotes(link.target)));
      }
    }
    if (to_switch > 0) join_switch(gpu, to_switch);
    if (to_cpu > 0)
      join_cpu(gpu, LinkKind::nvlink,
               nvlink_of(told.compute_capability,
                         static_cast<int>(std::min<std::int64_t>(to_cpu, kMostLinks)),
                         NvlinkEnd::device));
    if (told.c2c) join_cpu(gpu, LinkKind::cpu, c2c_of(*told.c2c));
  }

  /// What a link leads to; `bridge` stands for the CPU (IBM's bridges are of class 0x068001),
  /// `other` for nothing in the file.
  [[nodiscard]] PciKind end_of(const FoundGpu& gpu, const NcclNvlink& link) const {
    if (by_bus_.count({gpu.host, link.target}) != 0) return PciKind::gpu;
    if (link.target == kHiddenSwitch || nvswitches_.count(link.target) != 0)
      return PciKind::nvswitch;
    if (link.target_class == "0x068001") return PciKind::bridge;
    if (link.target_class.substr(0, 6) == "0x0680") return PciKind::nvswitch;
    return PciKind::other;
  }

  void join_switch(const FoundGpu& gpu, std::int64_t count) {
    if (!nvswitch_) {
      host_ = 0;
      nvswitch_ = add({VertexKind::nvswitch, "all NVSwitches as one"}, 0, "");
    }
    join_switch(gpu, *nvswitch_, count);
  }

  /// With no more links than the GPU has.
  void join_switch(const FoundGpu& gpu, std::size_t nvswitch, std::int64_t count) {
    const std::int64_t has = links_of(gpu);
    if (count > has && !noted_links_) {
      machine_.notes.push_back(
          fmt::format("{}: {} NVLinks to NVSwitches are more than a GPU has: assuming {}",
                      gpu.pci->bus_id, count, has));
      noted_links_ = true;
    }
    machine_.join(gpu.vertex, nvswitch, LinkKind::nvlink,
                  nvlink_of(gpu.pci->gpu ? gpu.pci->gpu->compute_capability : 0,
                            static_cast<int>(std::min(count, has)), NvlinkEnd::nvswitch));
  }

  /// NVLinks that the GPU has; where that is not known, more than any.
  [[nodiscard]] std::int64_t links_of(const FoundGpu& gpu) const {
    if (device_ && device_->peer_links) return device_->peer_links->count;
    const KnownGpu* known = gpu_of_pci_id(gpu.pci->pci_id);
    if (known == nullptr && gpu.pci->gpu)
      known = gpu_of_capability(gpu.pci->gpu->compute_capability);
    return known == nullptr ? kMostLinks : known->links;
  }

  /// Next to a direct way to its CPU the PCIe link is of no use, and would have routes split.
  void join_cpu(const FoundGpu& gpu, LinkKind kind, SourcedLink link) {
    MachineCable& pcie = machine_.cables[gpu.cable];
    if (pcie.to == gpu.cpu) {
      pcie.kind = kind;
      pcie.link = std::move(link);
    } else {
      machine_.join(gpu.vertex, gpu.cpu, kind, std::move(link));
    }
  }

  void keep_direct(const FoundGpu& gpu, const NcclNvlink& link) {
    const std::size_t other = by_bus_.at({gpu.host, link.target});
    const auto own = static_cast<std::size_t>(&gpu - gpus_.data());
    if (other == own) {
      ++to_themselves_;
    } else {
      direct_.add(own, other, link);
    }
  }

  void note_links_to_themselves() {
    if (to_themselves_ == 0) return;
    machine_.notes.push_back(
        to_themselves_ == 1
            ? "a link of a GPU to itself is ignored"
            : fmt::format("{} links of GPUs to themselves are ignored", to_themselves_));
  }

  void settle_direct_links() {
    direct_.check_both_ends(problems_);
    std::vector<std::int64_t> has;
    for (const FoundGpu& gpu : gpus_) has.push_back(links_of(gpu));
    const auto switched = direct_.behind_switches(has);
    std::map<std::size_t, std::size_t> vertices;  // of NVSwitches, by group
    for (std::size_t gpu = 0; gpu < gpus_.size(); ++gpu) {
      if (!switched[gpu]) continue;
      const auto [found, is_new] = vertices.try_emplace(switched[gpu]->group, 0);
      host_ = gpus_[gpu].host;
      if (is_new)
        found->second =
            add({VertexKind::nvswitch, "between GPUs that tell all their links to each"}, 0, "");
      join_switch(gpus_[gpu], found->second, switched[gpu]->links);
    }
    for (const DirectLinks::Link& link : direct_.all()) {
      if (!switched[link.from] || link.told->xgmi) add_direct(link);
    }
  }

  /// A link that only one side lists exists anyway.
  void add_direct(const DirectLinks::Link& link) {
    const int count = static_cast<int>(std::min<std::int64_t>(link.there, kMostLinks));
    const NcclGpu& told = *gpus_[link.from].pci->gpu;
    machine_.xgmi = machine_.xgmi || link.told->xgmi;
    machine_.join(gpus_[std::min(link.from, link.to)].vertex,
                  gpus_[std::max(link.from, link.to)].vertex, LinkKind::nvlink,
                  link.told->xgmi ? xgmi_of(told.architecture, count)
                                  : nvlink_of(told.compute_capability, count, NvlinkEnd::device));
  }

  void add_pci_links() {
    std::set<std::pair<std::size_t, std::size_t>> joined;
    for (const auto& [pci, vertex, host] : linked_) {
      for (const std::string& target : pci->links_to) {
        const auto other = bridges_.find({host, target});
        if (other == bridges_.end()) {
          problems_.note(
              pci->at, "",
              "pcilink: expected the bus id of another bridge, got " + in_quotes(target));
        } else if (other->second != vertex &&
                   joined.insert(std::minmax({vertex, other->second})).second) {
          machine_.join(vertex, other->second, LinkKind::pcie, local_link({}));
        }
      }
    }
  }

  // --- what is assumed

  void settle_device() {
    std::set<std::string> devices;
    for (const FoundGpu& gpu : gpus_) devices.insert(device_of(*gpu.pci));
    if (devices.empty() || *devices.begin() == "") return;
    machine_.device = *devices.begin();
    if (devices.size() > 1)
      machine_.notes.push_back(fmt::format("there are {} kinds of GPUs; all are assumed to be {}",
                                           devices.size(), machine_.device));
  }

  std::string device_of(const NcclPci& pci) {
    if (const KnownGpu* known = gpu_of_pci_id(pci.pci_id)) return std::string{known->device};
    const KnownGpu* likely = nullptr;
    if (pci.gpu) likely = gpu_of_capability(pci.gpu->compute_capability);
    if (likely == nullptr && pci.gpu) likely = gpu_of_architecture(pci.gpu->architecture);
    if (likely == nullptr && !pci.gpu)
      likely = gpu_of_pcie(pcie_generation(pci.link_speed).value_or(0));
    if (likely != nullptr) machine_.device_assumed = true;
    return likely == nullptr ? "" : std::string{likely->device};
  }

  void note_assumptions() {
    if (without_speed_ == 0) return;
    machine_.notes.push_back(
        fmt::format("{} PCIe link{} without a speed: assuming generation 3, as NCCL does",
                    without_speed_, without_speed_ == 1 ? "" : "s"));
  }

  // --- order

  /// Vertices kind by kind in their order; bridges that lead nowhere are dropped.
  Machine sorted() {
    const auto needed = needed_vertices();
    constexpr std::array kKinds{VertexKind::gpu, VertexKind::nvswitch, VertexKind::pcie_switch,
                                VertexKind::cpu, VertexKind::nic};
    Machine out = machine_;
    out.vertices.clear();
    out.cables.clear();
    std::map<std::size_t, std::size_t> place;
    for (const VertexKind kind : kKinds) {
      auto of_kind = machine_.of_kind(kind);
      std::ranges::stable_sort(of_kind, {}, [this](std::size_t v) { return orders_[v]; });
      for (const std::size_t v : of_kind) {
        if (needed.count(v) != 0) place[v] = out.add(machine_.vertices[v]);
      }
    }
    for (const MachineCable& cable : machine_.cables) {
      if (place.count(cable.from) == 0 || place.count(cable.to) == 0) continue;
      out.join(place[cable.from], place[cable.to], cable.kind, cable.link);
    }
    return out;
  }

  /// A bridge's cable upwards is made before anything below it.
  [[nodiscard]] std::set<std::size_t> needed_vertices() const {
    std::set<std::size_t> needed;
    for (std::size_t v = 0; v < machine_.vertices.size(); ++v) {
      if (machine_.vertices[v].kind != VertexKind::pcie_switch) needed.insert(v);
    }
    for (auto cable = machine_.cables.rbegin(); cable != machine_.cables.rend(); ++cable) {
      const bool upwards = cable->kind == LinkKind::pcie && cable->from > cable->to;
      if (upwards && needed.count(cable->from) != 0) needed.insert(cable->to);
    }
    return needed;
  }

  struct FoundCpu {
    const NcclCpuElement* cpu;
    std::size_t vertex;
    std::size_t host;
  };
  struct FoundBridge {
    const NcclPci* pci;
    std::size_t vertex;
    std::size_t host;
  };
  using Place = std::pair<std::size_t, std::string>;  // host, bus id
  static constexpr std::int64_t kMostLinks = 1024;

  const NcclTopology& topology_;
  Problems problems_;
  Machine machine_;
  std::vector<Order> orders_;  // by vertex
  std::map<std::string, std::size_t> hosts_;
  std::size_t host_ = 0;  // while reading: where we are
  std::size_t cpu_ = 0;   // its vertex
  std::vector<FoundCpu> cpus_;
  std::vector<FoundGpu> gpus_;
  std::vector<FoundBridge> linked_;
  std::map<Place, std::size_t> by_bus_;   // into gpus_
  std::map<Place, std::size_t> bridges_;  // vertices
  std::set<std::string> nvswitches_;      // bus ids
  DirectLinks direct_;
  NicCollector nics_;
  const std::optional<Device>& device_;
  std::int64_t to_themselves_ = 0;
  bool noted_links_ = false;
  std::optional<std::size_t> nvswitch_;
  bool gpus_numbered_ = true;
  bool nets_numbered_ = true;
  std::size_t without_speed_ = 0;
};

}  // namespace

Machine machine_of(const NcclTopology& topology, const std::string& file,
                   const std::optional<Device>& device) {
  return Builder{topology, file, device}.build();
}

}  // namespace lockstep
