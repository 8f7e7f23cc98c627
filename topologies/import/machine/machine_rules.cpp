#include "topologies/import/machine/machine_rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "sim/base/check.hpp"
#include "topologies/import/machine/link_constants.hpp"
#include "topologies/import/machine/nearest_nic.hpp"
#include "topologies/import/machine/rate_text.hpp"

namespace lockstep {
namespace {

std::set<std::size_t> all_of(const Machine& machine) {
  std::set<std::size_t> all;
  for (std::size_t v = 0; v < machine.vertices.size(); ++v) all.insert(v);
  return all;
}

/// "0000:01:00.0, mlx5_2", or how many where they are more than a few.
std::string names_of(const Machine& machine, const std::vector<std::size_t>& nics) {
  constexpr std::size_t kShown = 4;
  if (nics.size() > kShown) return fmt::format("{} NICs", nics.size());
  std::vector<std::string> names;
  for (const std::size_t nic : nics) names.push_back(machine.vertices[nic].source);
  return fmt::format("{}", fmt::join(names, "; "));
}

/// "left out: 0000:01:00.0, eth0 (a NIC slower than ...)".
std::string note_of(const Machine& machine, const std::vector<std::size_t>& nics,
                    const std::string& why) {
  return fmt::format("left out: {} ({} {})", names_of(machine, nics),
                     nics.size() == 1 ? "a NIC" : "NICs", why);
}

/// What a NIC hangs by: its only cable.
template <class SomeMachine>
auto& cable_of(SomeMachine& machine, std::size_t nic) {
  const auto found = std::ranges::find(machine.cables, nic, &MachineCable::from);
  LOCKSTEP_CHECK(found != machine.cables.end());
  return *found;
}

/// The speed at which the NICs that serve GPUs carry most together; of two that carry as much the
/// higher.
Rate main_speed(const Machine& machine, const std::set<std::size_t>& busy) {
  std::map<Rate, double> sums;
  for (const std::size_t nic : busy) {
    const Rate rate = machine.vertices[nic].speed->rate;
    sums[rate] += rate.bytes_per_second();
  }
  return std::max_element(sums.begin(), sums.end(),
                          [](const auto& a, const auto& b) {
                            return std::tie(a.second, a.first) < std::tie(b.second, b.first);
                          })
      ->first;
}

std::set<std::size_t> nics_of(const std::vector<NearestNic>& nearest) {
  std::set<std::size_t> nics;
  for (const NearestNic& each : nearest) nics.insert(each.nic);
  return nics;
}

/// A fabric has links of one speed: keeps the NICs of that which those that serve GPUs mostly have.
/// Whether there were others.
bool drop_other_speeds(Machine& machine, const std::set<std::size_t>& busy) {
  const Rate speed = main_speed(machine, busy);
  std::vector<std::size_t> slower;
  std::vector<std::size_t> faster;
  auto kept = all_of(machine);
  for (const std::size_t nic : machine.of_kind(VertexKind::nic)) {
    const Rate own = machine.vertices[nic].speed->rate;
    if (own == speed) continue;
    (own < speed ? slower : faster).push_back(nic);
    kept.erase(nic);
  }
  const std::string others = network_rate_text(speed);
  if (!slower.empty())
    machine.notes.push_back(note_of(machine, slower, "slower than the others of " + others));
  if (!faster.empty())
    machine.notes.push_back(note_of(
        machine, faster, "faster than the others of " + others + ", which serve more of the GPUs"));
  machine = subset(machine, kept);
  return !slower.empty() || !faster.empty();
}

/// Whether one of them serves a GPU to which the other is as near.
bool could_serve(const std::vector<NearestNic>& nearest, std::size_t busy, std::size_t idle) {
  return std::ranges::any_of(nearest, [=](const NearestNic& each) {
    return each.nic == busy && std::ranges::find(each.as_near, idle) != each.as_near.end();
  });
}

/// Which NICs each NIC that serves a GPU stands for: itself, and idle ones that hang on the same
/// and are as near.
std::map<std::size_t, std::vector<std::size_t>> shares(const Machine& machine,
                                                       const std::set<std::size_t>& busy,
                                                       const std::vector<NearestNic>& nearest) {
  std::map<std::size_t, std::vector<std::size_t>> of_busy;
  for (const std::size_t nic : busy) of_busy[nic] = {nic};
  for (const std::size_t nic : machine.of_kind(VertexKind::nic)) {
    if (busy.count(nic) != 0) continue;
    std::size_t least = SIZE_MAX;
    std::vector<std::size_t>* chosen = nullptr;
    for (auto& [other, share] : of_busy) {
      const bool beside = cable_of(machine, other).to == cable_of(machine, nic).to;
      if (!beside || share.size() >= least || !could_serve(nearest, other, nic)) continue;
      least = share.size();
      chosen = &share;
    }
    if (chosen != nullptr) chosen->push_back(nic);
  }
  return of_busy;
}

/// How many NICs each stands for; 1 where not all stand for as many.
std::size_t evenly(const std::map<std::size_t, std::vector<std::size_t>>& of_busy) {
  const std::size_t first = of_busy.begin()->second.size();
  const bool even = std::ranges::all_of(
      of_busy, [first](const auto& entry) { return entry.second.size() == first; });
  return even ? first : 1;
}

/// Makes a NIC as fast as all that it stands for.
void widen(Machine& machine, std::size_t nic, const std::vector<std::size_t>& share) {
  const std::string names = names_of(machine, share);
  MachineVertex& vertex = machine.vertices[nic];
  vertex.source = fmt::format("{} as one: {}", share.size(), names);
  vertex.speed->rate = vertex.speed->rate.scaled(static_cast<double>(share.size()));
  vertex.speed->source = fmt::format("{} times {}", share.size(), vertex.speed->source);
  SourcedLink& link = cable_of(machine, nic).link;
  link.figures = link.figures.times(static_cast<int>(share.size()));
  link.source = fmt::format("{} side by side, each: {}", share.size(), link.source);
}

/// Makes one of several NICs where that comes out even, and drops all but those.
void keep_busy(Machine& machine, const std::set<std::size_t>& busy,
               const std::vector<NearestNic>& nearest) {
  const auto of_busy = shares(machine, busy, nearest);
  const std::size_t each = evenly(of_busy);
  std::set<std::size_t> used = busy;
  for (const auto& [nic, share] : of_busy) {
    if (each == 1) continue;
    widen(machine, nic, share);
    used.insert(share.begin(), share.end());
  }
  if (each > 1) machine.notes.push_back(fmt::format("{} NICs side by side are taken as one", each));
  auto kept = all_of(machine);
  std::vector<std::size_t> idle;
  for (const std::size_t nic : machine.of_kind(VertexKind::nic)) {
    if (busy.count(nic) == 0) kept.erase(nic);
    if (used.count(nic) == 0) idle.push_back(nic);
  }
  if (!idle.empty()) machine.notes.push_back(note_of(machine, idle, "that no GPU is nearest to"));
  machine = subset(machine, kept);
}

}  // namespace

Machine subset(const Machine& machine, const std::set<std::size_t>& kept) {
  Machine out = machine;
  out.vertices.clear();
  out.cables.clear();
  std::map<std::size_t, std::size_t> place;
  for (const std::size_t v : kept) place[v] = out.add(machine.vertices[v]);
  for (const MachineCable& cable : machine.cables) {
    if (kept.count(cable.from) == 0 || kept.count(cable.to) == 0) continue;
    out.join(place[cable.from], place[cable.to], cable.kind, cable.link);
  }
  out.told_paths.clear();
  for (const ReportedPath& told : machine.told_paths) {
    if (kept.count(told.gpu) == 0 || kept.count(told.nic) == 0) continue;
    out.told_paths.push_back({place[told.gpu], place[told.nic], told.type});
  }
  return out;
}

std::vector<Machine> connected_components(const Machine& machine) {
  std::vector<std::size_t> group(machine.vertices.size());
  for (std::size_t v = 0; v < group.size(); ++v) group[v] = v;
  const auto root = [&group](std::size_t v) {
    while (group[v] != v) v = group[v] = group[group[v]];
    return v;
  };
  for (const MachineCable& cable : machine.cables) {
    const auto [first, second] = std::minmax({root(cable.from), root(cable.to)});
    group[second] = first;
  }
  std::map<std::size_t, std::set<std::size_t>> parts;
  for (std::size_t v = 0; v < group.size(); ++v) parts[root(v)].insert(v);
  std::vector<Machine> out;
  for (const auto& [first, part] : parts) {
    Machine one = subset(machine, part);
    if (!one.of_kind(VertexKind::gpu).empty()) out.push_back(std::move(one));
  }
  return out;
}

void add_nics(Machine& machine, const NicSpeed& speed) {
  for (const std::size_t gpu : machine.of_kind(VertexKind::gpu)) {
    const auto above = std::ranges::find_if(machine.cables, [&](const MachineCable& cable) {
      return cable.from == gpu && machine.vertices[cable.to].kind != VertexKind::gpu &&
             machine.vertices[cable.to].kind != VertexKind::nvswitch;
    });
    LOCKSTEP_CHECK(above != machine.cables.end());
    const MachineCable beside = *above;
    const SourcedLink slot = beside.kind == LinkKind::pcie ? beside.link : pcie_of(5, 16);
    MachineVertex nic{VertexKind::nic, "assumed, next to " + machine.vertices[gpu].source};
    nic.speed = speed;
    machine.join(machine.add(std::move(nic)), beside.to, LinkKind::pcie, slot);
  }
}

std::vector<int> settle_nics(Machine& machine, const std::optional<NicSpeed>& asked_for) {
  const std::size_t gpus = machine.of_kind(VertexKind::gpu).size();
  if (machine.of_kind(VertexKind::nic).empty()) return std::vector<int>(gpus, 0);
  std::vector<NearestNic> nearest = nearest_nics(machine);
  if (asked_for) {
    for (const std::size_t nic : machine.of_kind(VertexKind::nic))
      machine.vertices[nic].speed = *asked_for;
  } else if (drop_other_speeds(machine, nics_of(nearest))) {
    nearest = nearest_nics(machine);
  }
  const std::set<std::size_t> busy = nics_of(nearest);
  std::vector<int> rails;
  for (const NearestNic& each : nearest)
    rails.push_back(static_cast<int>(std::distance(busy.begin(), busy.find(each.nic))));
  keep_busy(machine, busy, nearest);
  return rails;
}

}  // namespace lockstep
