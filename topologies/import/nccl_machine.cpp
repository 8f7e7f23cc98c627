#include "topologies/import/nccl_machine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "topologies/import/known_gpus.hpp"

namespace lockstep {
namespace {

constexpr std::string_view kHiddenSwitch = "fffffff:ff:ff.0";  // NVSwitches that a VM does not see
constexpr int kDefaultPcie = 3;                    // NCCL's fallback, 60 in kvDictPciGen
constexpr int kDefaultLanes = 16;                  // NCCL's, where link_width is 0
constexpr std::int64_t kDefaultMegabits = 10'000;  // NCCL's, where a NIC's speed is not told

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
  Builder(const NcclTopology& topology, const std::string& file)
      : topology_{topology}, problems_{file} {}

  Machine build() {
    machine_.notes = topology_.notes;
    find_whether_numbered();
    for (const NcclCpuElement& cpu : topology_.cpus) add_cpu(cpu);
    join_cpus();
    for (const FoundGpu& gpu : gpus_) add_links(gpu);
    add_direct_links();
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
    for (const NcclNet& net : cpu.nets) {
      const auto nic = add_nic(net, "", {});
      machine_.join(nic, vertex, LinkKind::pcie, local_link(Duration::picoseconds(500'000)));
    }
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
        return add_card(pci, above);
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

  /// A card of several ports shares its lanes between them.
  void add_card(const NcclPci& pci, std::size_t above) {
    const SourcedLink link = pcie_link(pci);
    if (pci.nets.size() < 2) {
      const auto nic =
          add_nic(pci.nets.empty() ? NcclNet{} : pci.nets.front(), pci.bus_id, link.figures);
      machine_.join(nic, above, LinkKind::pcie, link);
      return;
    }
    const auto card =
        add({VertexKind::pcie_switch, pci.bus_id + ", a card with several ports"}, 0, "");
    machine_.join(card, above, LinkKind::pcie, link);
    for (const NcclNet& net : pci.nets) {
      const auto nic = add_nic(net, pci.bus_id, link.figures);
      machine_.join(nic, card, LinkKind::pcie, local_link({}));
    }
  }

  std::size_t add_nic(const NcclNet& net, const std::string& bus_id, const LinkFigures& slot) {
    MachineVertex nic{VertexKind::nic, bus_id};
    if (!net.name.empty()) nic.source += (bus_id.empty() ? "" : ", ") + net.name;
    nic.speed = speed_of(net, slot);
    return add(std::move(nic), nets_numbered_ ? *net.dev : 0, bus_id);
  }

  /// A net that tells none, or nonsense, has what NCCL then takes; a card of which nothing but the
  /// slot is told, what fits there.
  static NicSpeed speed_of(const NcclNet& net, const LinkFigures& slot) {
    const bool told = net.megabits && *net.megabits > 0;
    if (!told && net.name.empty()) return nic_speed_for(slot);
    const std::int64_t megabits = told ? *net.megabits : kDefaultMegabits;
    const Rate rate = Rate::bytes_per_second(static_cast<std::uint64_t>(megabits) * 125'000);
    if (told) return {rate, fmt::format("{} Mb/s, as the file says", megabits), false};
    return {rate, fmt::format("{} Mb/s, NCCL's default", megabits), true};
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
    if (to_switch > 0)
      join_switch(gpu, static_cast<int>(std::min<std::int64_t>(to_switch, kMostLinks)));
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

  void join_switch(const FoundGpu& gpu, int count) {
    if (!nvswitch_) {
      host_ = 0;
      nvswitch_ = add({VertexKind::nvswitch, "all NVSwitches as one"}, 0, "");
    }
    machine_.join(gpu.vertex, *nvswitch_, LinkKind::nvlink,
                  nvlink_of(gpu.pci->gpu->compute_capability, count, NvlinkEnd::nvswitch));
  }

  /// Beside a direct way to its CPU the PCIe link there is of no use, and would have routes split.
  void join_cpu(const FoundGpu& gpu, LinkKind kind, SourcedLink link) {
    MachineCable& pcie = machine_.cables[gpu.cable];
    if (pcie.to == gpu.cpu) {
      pcie.kind = kind;
      pcie.link = std::move(link);
    } else {
      machine_.join(gpu.vertex, gpu.cpu, kind, std::move(link));
    }
  }

  struct Direct {
    const FoundGpu* from = nullptr;  // who told it first
    const NcclNvlink* link = nullptr;
    std::int64_t there = 0;
    std::int64_t back = 0;
  };

  void keep_direct(const FoundGpu& gpu, const NcclNvlink& link) {
    const std::size_t other = by_bus_.at({gpu.host, link.target});
    const auto own = static_cast<std::size_t>(&gpu - gpus_.data());
    if (other == own) {
      problems_.note(link.at, "",
                     "target: a GPU has no link to itself, got " + in_quotes(link.target));
      return;
    }
    Direct& direct = direct_[{std::min(own, other), std::max(own, other)}];
    if (direct.from == nullptr) direct = {&gpu, &link, 0, 0};
    (direct.from == &gpu ? direct.there : direct.back) += link.count;
    if (direct.from != &gpu) direct.link = &link;
  }

  /// A link that only one side tells is there all the same.
  void add_direct_links() {
    for (const auto& [pair, direct] : direct_) {
      if (direct.back != 0 && direct.back != direct.there) {
        problems_.note(direct.link->at, "",
                       fmt::format("count: expected {} as the other end says, got {}", direct.there,
                                   direct.back));
        continue;
      }
      const FoundGpu& gpu = *direct.from;
      const int count = static_cast<int>(std::min<std::int64_t>(direct.there, kMostLinks));
      const NcclGpu& told = *gpu.pci->gpu;
      machine_.join(gpus_[pair.first].vertex, gpus_[pair.second].vertex, LinkKind::nvlink,
                    direct.link->xgmi
                        ? xgmi_of(told.architecture, count)
                        : nvlink_of(told.compute_capability, count, NvlinkEnd::device));
    }
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
      machine_.notes.push_back(fmt::format("there are {} kinds of GPUs; all are taken for {}",
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
        fmt::format("{} PCIe link{} no speed: taken for generation 3, as NCCL does", without_speed_,
                    without_speed_ == 1 ? " tells" : "s tell"));
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
  std::map<std::pair<std::size_t, std::size_t>, Direct> direct_;
  std::optional<std::size_t> nvswitch_;
  bool gpus_numbered_ = true;
  bool nets_numbered_ = true;
  std::size_t without_speed_ = 0;
};

}  // namespace

Machine machine_of(const NcclTopology& topology, const std::string& file) {
  return Builder{topology, file}.build();
}

}  // namespace lockstep
