#include "topologies/import/machine/nearest_nic.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <queue>
#include <tuple>
#include <utility>

#include "sim/base/check.hpp"
#include "topologies/import/machine/import_error.hpp"

namespace lockstep {
namespace {

/// What a way crosses: CPUs count for more than any number of PCIe switches.
struct Crossed {
  int cpus = std::numeric_limits<int>::max();
  int switches = 0;
  friend auto operator<=>(const Crossed&, const Crossed&) = default;
};

PathType type_of(const Crossed& crossed) {
  if (crossed.cpus > 1) return PathType::sys;
  if (crossed.cpus == 1) return PathType::phb;
  return crossed.switches > 1 ? PathType::pxb : PathType::pix;
}

class Ways {
 public:
  explicit Ways(const Machine& machine) : machine_{machine}, beside_(machine.vertices.size()) {
    for (const MachineCable& cable : machine.cables) {
      beside_[cable.from].push_back(cable.to);
      beside_[cable.to].push_back(cable.from);
    }
    for (const ReportedPath& told : machine.told_paths) told_[{told.gpu, told.nic}] = told.type;
  }

  /// By vertex; nothing where there is no way, and for all that is no NIC.
  [[nodiscard]] std::vector<std::optional<PathType>> from(std::size_t gpu) const {
    const std::vector<Crossed> least = least_crossed(gpu);
    std::vector<std::optional<PathType>> out(least.size());
    for (const std::size_t nic : machine_.of_kind(VertexKind::nic)) {
      const auto told = told_.find({gpu, nic});
      if (told != told_.end()) {
        out[nic] = told->second;
      } else if (least[nic] != Crossed{}) {
        out[nic] = type_of(least[nic]);
      }
    }
    return out;
  }

 private:
  /// Dijkstra's search; only PCIe switches and CPUs are passed.
  [[nodiscard]] std::vector<Crossed> least_crossed(std::size_t gpu) const {
    using Entry = std::pair<Crossed, std::size_t>;
    std::vector<Crossed> least(machine_.vertices.size());
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
    least[gpu] = {0, 0};
    queue.emplace(least[gpu], gpu);
    while (!queue.empty()) {
      const auto [crossed, at] = queue.top();
      queue.pop();
      if (crossed > least[at] || (at != gpu && !passes(at))) continue;
      for (const std::size_t next : beside_[at]) {
        const Crossed there = behind(crossed, next);
        if (there >= least[next]) continue;
        least[next] = there;
        queue.emplace(there, next);
      }
    }
    return least;
  }

  [[nodiscard]] bool passes(std::size_t vertex) const {
    const VertexKind kind = machine_.vertices[vertex].kind;
    return kind == VertexKind::pcie_switch || kind == VertexKind::cpu;
  }

  [[nodiscard]] Crossed behind(Crossed crossed, std::size_t vertex) const {
    const VertexKind kind = machine_.vertices[vertex].kind;
    if (kind == VertexKind::cpu) ++crossed.cpus;
    if (kind == VertexKind::pcie_switch) ++crossed.switches;
    return crossed;
  }

  const Machine& machine_;
  std::vector<std::vector<std::size_t>> beside_;
  std::map<std::pair<std::size_t, std::size_t>, PathType> told_;  // by GPU and NIC
};

/// The NICs that are as near and as fast as any.
std::vector<std::size_t> best_of(const Machine& machine,
                                 const std::vector<std::optional<PathType>>& types) {
  using Merit = std::pair<PathType, std::uint64_t>;  // the lower the better
  std::optional<Merit> least;
  std::vector<std::size_t> best;
  for (const std::size_t nic : machine.of_kind(VertexKind::nic)) {
    if (!types[nic]) continue;
    const Merit merit{*types[nic], ~machine.vertices[nic].speed->rate.steps()};
    if (least && merit > *least) continue;
    if (!least || merit < *least) best.clear();
    least = merit;
    best.push_back(nic);
  }
  return best;
}

}  // namespace

std::vector<NearestNic> nearest_nics(const Machine& machine) {
  const Ways ways{machine};
  std::vector<NearestNic> out;
  std::map<std::size_t, int> near;  // GPUs to which a NIC is among the nearest
  for (const std::size_t gpu : machine.of_kind(VertexKind::gpu)) {
    out.push_back({0, best_of(machine, ways.from(gpu))});
    if (out.back().as_near.empty())
      throw ImportError(
          fmt::format("the GPU {}: it reaches no NIC through vertices that "
                      "forward",
                      machine.vertices[gpu].source));
    for (const std::size_t nic : out.back().as_near) ++near[nic];
  }
  std::map<std::size_t, int> serves;
  for (NearestNic& each : out) {
    each.nic = *std::ranges::min_element(each.as_near, {}, [&](std::size_t nic) {
      return std::tuple{serves[nic], near[nic], nic};
    });
    ++serves[each.nic];
  }
  return out;
}

}  // namespace lockstep
