#include "topologies/import/smi_machine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "topologies/import/known_gpus.hpp"
#include "topologies/import/link_constants.hpp"

namespace lockstep {
namespace {

constexpr int kLanes = 16;
constexpr int kMostLinks = 18;  // of any GPU so far: NVLink 4 and 5

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

struct Facts {
  std::string device;
  int compute_capability = 80;
  int pcie = 4;
  int links = kMostLinks;
};

class Builder {
 public:
  Builder(const SmiMatrix& matrix, const std::optional<Device>& device)
      : matrix_{matrix},
        count_{matrix.devices.size()},
        bridge_{count_},
        bridges_{count_},
        cpu_{count_} {
    settle_facts(device);
  }

  Machine build() {
    group();
    add_devices();
    add_tree();
    add_nvlinks();
    return std::move(machine_);
  }

 private:
  [[nodiscard]] bool is_gpu(std::size_t i) const { return matrix_.devices[i].is_gpu; }

  // --- what it is made of

  void settle_facts(const std::optional<Device>& device) {
    int most = 0;
    for (std::size_t i = 0; i < count_; ++i) most = std::max(most, links_used(i));
    const KnownGpu* known = device ? gpu_of_device(device->id) : gpu_of_links(most);
    if (known != nullptr && (device || most > 0)) {
      facts_ = {std::string{known->device}, known->compute_capability, known->pcie, known->links};
    }
    if (device) take(*device);
    machine_.device = facts_.device;
    machine_.device_assumed = !device;
    machine_.notes.push_back(fmt::format("PCIe is taken for generation {} with {} lanes, as of {}",
                                         facts_.pcie, kLanes,
                                         facts_.device.empty() ? "most machines" : facts_.device));
  }

  void take(const Device& device) {
    facts_.device = device.id;
    if (device.pcie_generation)
      facts_.pcie = std::clamp(static_cast<int>(*device.pcie_generation), 1, 6);
    if (device.peer_links)
      facts_.links = static_cast<int>(std::clamp<std::int64_t>(device.peer_links->count, 1, 1024));
  }

  /// NVLinks of a GPU if they led straight to the others; of an NVSwitch every pair shows them all.
  [[nodiscard]] int links_used(std::size_t gpu) const {
    int sum = 0;
    int most = 0;
    for (std::size_t other = 0; other < count_; ++other) {
      sum += matrix_.cell(gpu, other).links;
      most = std::max(most, matrix_.cell(gpu, other).links);
    }
    return sum <= kMostLinks ? sum : most;
  }

  // --- PCIe

  void group() {
    for (std::size_t a = 0; a < count_; ++a) {
      for (std::size_t b = 0; b < a; ++b) join(a, b);
    }
  }

  void join(std::size_t a, std::size_t b) {
    const SmiPath path = matrix_.cell(a, b).path;
    if (path == SmiPath::nvlink) {  // nothing is told of the rest
      const bool same =
          !matrix_.devices[a].numa.empty() && matrix_.devices[a].numa == matrix_.devices[b].numa;
      if (same) cpu_.join(a, b);
      return;
    }
    if (path == SmiPath::sys) return;
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

  /// Puts a switch above every group of more than one; `top` tells what is highest above a device.
  void add_switches(const Groups& groups, std::vector<std::size_t>& top, const std::string& cell) {
    std::map<std::size_t, std::set<std::size_t>> tops;
    for (std::size_t i = 0; i < count_; ++i) tops[groups.of(i)].insert(top[i]);
    std::map<std::size_t, std::size_t> above;  // by what is below
    for (const auto& [group, below] : tops) {
      if (below.size() < 2) continue;
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
    if (cpus.size() > 1)
      machine_.notes.push_back("the links between CPUs are taken for AMD's, 16 GB/s");
  }

  // --- NVLink

  void add_nvlinks() {
    if (const auto count = links_to_switch()) {
      const std::size_t nvswitch =
          machine_.add({VertexKind::nvswitch, fmt::format("NV{} between all GPUs", *count)});
      for (std::size_t gpu = 0; gpu < count_; ++gpu) {
        if (is_gpu(gpu))
          machine_.join(gpu, nvswitch, LinkKind::nvlink,
                        nvlink_of(facts_.compute_capability, *count, NvlinkEnd::nvswitch));
      }
      return;
    }
    for (std::size_t a = 0; a < count_; ++a) {
      for (std::size_t b = a + 1; b < count_; ++b) {
        const int links = matrix_.cell(a, b).links;
        if (links > 0)
          machine_.join(a, b, LinkKind::nvlink,
                        nvlink_of(facts_.compute_capability, links, NvlinkEnd::device));
      }
    }
  }

  /// The links of every GPU to NVSwitches, where there are such: all pairs show the same number,
  /// and together they are more than a GPU has.
  [[nodiscard]] std::optional<int> links_to_switch() const {
    std::set<int> counts;
    int gpus = 0;
    for (std::size_t a = 0; a < count_; ++a) {
      if (!is_gpu(a)) continue;
      ++gpus;
      for (std::size_t b = 0; b < a; ++b) {
        if (is_gpu(b)) counts.insert(matrix_.cell(a, b).links);
      }
    }
    if (counts.size() != 1 || *counts.begin() == 0) return std::nullopt;
    const int count = *counts.begin();
    return count * (gpus - 1) > facts_.links ? std::optional{count} : std::nullopt;
  }

  const SmiMatrix& matrix_;
  std::size_t count_;
  Facts facts_;
  Groups bridge_;   // behind one bridge
  Groups bridges_;  // behind one host bridge's bridges
  Groups cpu_;
  Machine machine_;
};

}  // namespace

Machine machine_of(const SmiMatrix& matrix, const std::optional<Device>& device) {
  return Builder{matrix, device}.build();
}

}  // namespace lockstep
