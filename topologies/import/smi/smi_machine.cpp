#include "topologies/import/smi/smi_machine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "topologies/import/machine/link_constants.hpp"
#include "topologies/import/machine/machine_rules.hpp"
#include "topologies/import/smi/smi_facts.hpp"

namespace lockstep {
namespace {

constexpr int kLanes = 16;

/// Things that belong together.
class Groups {
 public:
  explicit Groups(std::size_t count) : parent_(count) {
    std::iota(parent_.begin(), parent_.end(), 0);
  }
  [[nodiscard]] std::size_t of(std::size_t i) const {
    while (parent_[i] != i) i = parent_[i];
    return i;
  }
  /// A group is named after its first member.
  void join(std::size_t a, std::size_t b) {
    const auto [first, second] = std::minmax({of(a), of(b)});
    parent_[second] = first;
  }

 private:
  std::vector<std::size_t> parent_;
};

class Builder {
 public:
  Builder(const SmiMatrix& matrix, const std::optional<Device>& device)
      : matrix_{matrix},
        count_{matrix.devices.size()},
        facts_{facts_of(matrix, device)},
        bridge_{count_},
        bridges_{count_},
        cpu_{count_} {
    machine_.device = facts_.device;
    machine_.device_assumed = !device;
    machine_.notes = matrix.notes;
    machine_.notes.push_back(fmt::format("assuming PCIe generation {} with {} lanes, as of {}",
                                         facts_.pcie, kLanes,
                                         facts_.device.empty() ? "most machines" : facts_.device));
  }

  Machine build() {
    group();
    add_devices();
    add_tree();
    add_nvlinks();
    tell_paths();
    return without_second_ports();
  }

 private:
  [[nodiscard]] bool is_gpu(std::size_t i) const { return matrix_.devices[i].is_gpu; }

  // --- PCIe

  void group() {
    for (std::size_t a = 0; a < count_; ++a) {
      for (std::size_t b = 0; b < a; ++b) join(a, b);
    }
  }

  /// Virtual machines tell SYS also of what their columns of affinity put on one NUMA node; of
  /// NVLink's neighbors nothing else is known.
  void join(std::size_t a, std::size_t b) {
    const SmiPath path = matrix_.cell(a, b).path;
    if (path == SmiPath::nvlink || path == SmiPath::sys) {
      const bool same =
          !matrix_.devices[a].numa.empty() && matrix_.devices[a].numa == matrix_.devices[b].numa;
      if (same) cpu_.join(a, b);
      return;
    }
    cpu_.join(a, b);
    if (path == SmiPath::pix) bridge_.join(a, b);
    if (path == SmiPath::pix || path == SmiPath::pxb) bridges_.join(a, b);
  }

  void add_devices() {
    for (std::size_t i = 0; i < count_; ++i) {
      const SmiDevice& device = matrix_.devices[i];
      MachineVertex vertex{device.is_gpu ? VertexKind::gpu : VertexKind::nic, device.name};
      if (!device.legend.empty()) vertex.source += ", " + device.legend;
      if (!device.is_gpu) vertex.speed = nic_speed_for(pcie().figures);
      machine_.add(std::move(vertex));
    }
  }

  /// As the matrix has them: the cables of the tree do not tell PHB from NODE.
  void tell_paths() {
    static const std::map<SmiPath, PathType> kTypes{{SmiPath::pix, PathType::pix},
                                                    {SmiPath::pxb, PathType::pxb},
                                                    {SmiPath::phb, PathType::phb},
                                                    {SmiPath::node, PathType::node},
                                                    {SmiPath::sys, PathType::sys}};
    for (std::size_t gpu = 0; gpu < count_; ++gpu) {
      for (std::size_t nic = 0; nic < count_; ++nic) {
        if (!is_gpu(gpu) || is_gpu(nic)) continue;
        machine_.told_paths.push_back({gpu, nic, kTypes.at(matrix_.cell(gpu, nic).path)});
      }
    }
  }

  /// Two NICs alone behind a bridge, with no GPU behind those further up, are the ports of one card
  /// in one slot.
  [[nodiscard]] bool is_card(const std::set<std::size_t>& below) const {
    return below.size() == 2 && std::ranges::all_of(below, [this](std::size_t one) {
             return one < count_ && !is_gpu(one) && !is_near_gpu(one);
           });
  }
  [[nodiscard]] bool is_near_gpu(std::size_t nic) const {
    for (std::size_t other = 0; other < count_; ++other) {
      if (is_gpu(other) && bridges_.of(other) == bridges_.of(nic)) return true;
    }
    return false;
  }

  Machine without_second_ports() {
    for (const auto& [first, second] : cards_) {
      MachineVertex& card = machine_.vertices[first];
      card.source += " and " + machine_.vertices[second].source + ", ports of one card";
      machine_.notes.push_back(
          fmt::format("{} and {} are assumed to be the ports of one card, one NIC",
                      matrix_.devices[first].name, matrix_.devices[second].name));
    }
    std::set<std::size_t> kept;
    for (std::size_t v = 0; v < machine_.vertices.size(); ++v) kept.insert(v);
    for (const auto& [first, second] : cards_) kept.erase(second);
    return subset(machine_, kept);
  }

  [[nodiscard]] SourcedLink pcie() const { return pcie_of(facts_.pcie, kLanes); }

  /// Devices below what they share, that below what they share with more, all below their CPU.
  void add_tree() {
    std::vector<std::size_t> top(count_);
    std::iota(top.begin(), top.end(), 0);
    add_switches(bridge_, top, "PIX");
    add_switches(bridges_, top, "PXB");
    std::map<std::size_t, std::size_t> cpus;  // by group
    std::set<std::pair<std::size_t, std::size_t>> cabled;
    for (std::size_t i = 0; i < count_; ++i) {
      const auto [found, is_new] = cpus.try_emplace(cpu_.of(i), machine_.vertices.size());
      if (is_new) machine_.add({VertexKind::cpu, numa_of(found->first)});
      if (cabled.emplace(top[i], found->second).second)
        machine_.join(top[i], found->second, LinkKind::pcie, pcie());
    }
    join_all(cpus);
  }

  /// Puts a switch above every group of more than one; `top` gives what is highest above a device.
  void add_switches(const Groups& groups, std::vector<std::size_t>& top, const std::string& cell) {
    std::map<std::size_t, std::set<std::size_t>> tops;
    for (std::size_t i = 0; i < count_; ++i) tops[groups.of(i)].insert(top[i]);
    std::map<std::size_t, std::size_t> above;  // by what is below
    for (const auto& [group, below] : tops) {
      if (below.size() < 2) continue;
      if (&groups == &bridge_ && is_card(below)) {
        const std::size_t second = *below.rbegin();
        cards_[*below.begin()] = second;
        top[second] = *below.begin();
        continue;
      }
      const std::size_t vertex = machine_.add({VertexKind::pcie_switch, cell});
      for (const std::size_t one : below) {
        machine_.join(one, vertex, LinkKind::pcie, pcie());
        above[one] = vertex;
      }
    }
    for (std::size_t& highest : top) {
      const auto found = above.find(highest);
      if (found != above.end()) highest = found->second;
    }
  }

  [[nodiscard]] std::string numa_of(std::size_t group) const {
    for (std::size_t i = 0; i < count_; ++i) {
      if (cpu_.of(i) == group && !matrix_.devices[i].numa.empty())
        return "NUMA affinity " + matrix_.devices[i].numa;
    }
    return "";
  }

  void join_all(const std::map<std::size_t, std::size_t>& cpus) {
    for (auto a = cpus.begin(); a != cpus.end(); ++a) {
      for (auto b = std::next(a); b != cpus.end(); ++b) {
        machine_.join(a->second, b->second, LinkKind::cpu, link_between_unknown_cpus());
      }
    }
    if (cpus.size() > 1) machine_.notes.push_back("assuming AMD's links between CPUs, 16 GB/s");
  }

  // --- NVLink

  void add_nvlinks() {
    Groups joined{count_};
    for_each_nvlink([&](std::size_t a, std::size_t b, int) { joined.join(a, b); });
    std::set<std::size_t> switched;
    for (std::size_t gpu = 0; gpu < count_; ++gpu) {
      if (sum_of_links(matrix_, gpu) > facts_.links) switched.insert(joined.of(gpu));
    }
    for (const std::size_t group : switched) add_nvswitch(group, joined);
    for_each_nvlink([&](std::size_t a, std::size_t b, int links) {
      if (switched.count(joined.of(a)) != 0) return;
      machine_.join(a, b, LinkKind::nvlink,
                    nvlink_of(facts_.compute_capability, links, NvlinkEnd::device));
    });
  }

  template <class Visit>
  void for_each_nvlink(const Visit& visit) const {
    for (std::size_t a = 0; a < count_; ++a) {
      for (std::size_t b = a + 1; b < count_; ++b) {
        if (const int links = matrix_.cell(a, b).links; links > 0) visit(a, b, links);
      }
    }
  }

  /// GPUs with more NVLinks to others than they have sit behind NVSwitches, and each pair shows all
  /// the links of a GPU.
  void add_nvswitch(std::size_t group, const Groups& joined) {
    int most = 0;
    const std::size_t nvswitch = machine_.add({VertexKind::nvswitch, ""});
    for (std::size_t gpu = 0; gpu < count_; ++gpu) {
      if (joined.of(gpu) != group) continue;
      const int links = most_links(matrix_, gpu);
      most = std::max(most, links);
      machine_.join(
          gpu, nvswitch, LinkKind::nvlink,
          nvlink_of(facts_.compute_capability, std::min(links, facts_.links), NvlinkEnd::nvswitch));
    }
    machine_.vertices[nvswitch].source = fmt::format("NV{} between GPUs", most);
    if (most > facts_.links)
      machine_.notes.push_back(fmt::format("NV{} is more than the {} NVLinks of {}: assuming {}",
                                           most, facts_.links, facts_.device, facts_.links));
  }

  const SmiMatrix& matrix_;
  std::size_t count_;
  SmiFacts facts_;
  Groups bridge_;   // behind one bridge
  Groups bridges_;  // behind one host bridge's bridges
  Groups cpu_;
  Machine machine_;
  std::map<std::size_t, std::size_t> cards_;  // second ports, by the first
};

}  // namespace

Machine machine_of(const SmiMatrix& matrix, const std::optional<Device>& device) {
  return Builder{matrix, device}.build();
}

}  // namespace lockstep
