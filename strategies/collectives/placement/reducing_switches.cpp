#include "strategies/collectives/placement/reducing_switches.hpp"

#include <map>
#include <utility>

namespace lockstep {

bool nvswitch_reduces(const Device& device) {
  return device.peak(Precision::kFp8).has_value();
}

ReducingSwitches::ReducingSwitches(const Cluster& cluster, bool nvswitches) {
  if (nvswitches) add(cluster, SwitchTier::nvswitch, in_nodes_);
  add(cluster, SwitchTier::fabric, in_fabric_);
}

ReducingSwitches ReducingSwitches::in_nodes(const Cluster& cluster, const Device& device) {
  ReducingSwitches out;
  if (nvswitch_reduces(device)) out.add(cluster, SwitchTier::nvswitch, out.in_nodes_);
  return out;
}

ReducingSwitches ReducingSwitches::of_step(const Cluster& cluster, const Device& device,
                                           bool in_fabric) {
  ReducingSwitches out = in_nodes(cluster, device);
  if (in_fabric) out.add(cluster, SwitchTier::fabric, out.in_fabric_);
  return out;
}

void ReducingSwitches::add(const Cluster& cluster, SwitchTier tier,
                           std::optional<std::size_t>& index) {
  int before = 0;
  for (const SwitchForest& forest : forests_) before += static_cast<int>(forest.switches.size());
  auto forest = switch_forest(cluster, tier, before);
  if (!forest) return;
  index = forests_.size();
  forests_.push_back(*std::move(forest));
}

void ReducingSwitches::add_to(RankLayout& layout) const {
  if (in_nodes_) layout.node_switches = forests_[*in_nodes_].parent;
  if (in_fabric_) layout.fabric_switches = forests_[*in_fabric_].parent;
}

void ReducingSwitches::add_to(RankLayout& layout, std::span<const EndpointId> ranks) const {
  layout.node_switches = above(AuxiliaryRanks::node_switches, ranks).parent;
  layout.fabric_switches = above(AuxiliaryRanks::fabric_switches, ranks).parent;
}

const SwitchForest* ReducingSwitches::forest_of(AuxiliaryRanks auxiliary_ranks) const {
  if (auxiliary_ranks == AuxiliaryRanks::node_switches && in_nodes_) return &forests_[*in_nodes_];
  if (auxiliary_ranks == AuxiliaryRanks::fabric_switches && in_fabric_)
    return &forests_[*in_fabric_];
  return nullptr;
}

std::vector<EndpointId> ReducingSwitches::endpoints(AuxiliaryRanks auxiliary_ranks) const {
  const SwitchForest* forest = forest_of(auxiliary_ranks);
  if (forest == nullptr) return {};
  std::vector<EndpointId> out = forest->switches;
  if (auxiliary_ranks == AuxiliaryRanks::fabric_switches && in_nodes_) {
    const std::vector<EndpointId>& more = forests_[*in_nodes_].switches;
    out.insert(out.end(), more.begin(), more.end());
  }
  return out;
}

ReducingSwitches::Above ReducingSwitches::above(AuxiliaryRanks auxiliary_ranks,
                                                std::span<const EndpointId> ranks) const {
  const SwitchForest* forest = forest_of(auxiliary_ranks);
  if (forest == nullptr) return {};
  Above out = above(*forest, ranks);
  if (auxiliary_ranks == AuxiliaryRanks::fabric_switches && in_nodes_) {
    const std::vector<EndpointId> more = above(forests_[*in_nodes_], ranks).switches;
    out.switches.insert(out.switches.end(), more.begin(), more.end());
  }
  return out;
}

ReducingSwitches::Above ReducingSwitches::above(const SwitchForest& forest,
                                                std::span<const EndpointId> ranks) {
  const std::size_t all = forest.parent.size() - forest.switches.size();  // ranks of the cluster
  const auto parent_of = [&](std::size_t node) { return forest.parent[node]; };
  std::map<int, int> number;  // of a switch, by its node in the forest
  for (const EndpointId rank : ranks)
    for (int at = parent_of(rank); at >= 0; at = parent_of(static_cast<std::size_t>(at)))
      if (!number.try_emplace(at, 0).second) break;
  Above out;
  for (auto& [node, own] : number) {
    own = static_cast<int>(ranks.size() + out.switches.size());
    out.switches.push_back(forest.switches[static_cast<std::size_t>(node) - all]);
  }
  const auto add = [&](int above) { out.parent.push_back(above < 0 ? -1 : number.at(above)); };
  for (const EndpointId rank : ranks) add(parent_of(rank));
  for (const auto& [node, own] : number) add(parent_of(static_cast<std::size_t>(node)));
  return out;
}

}  // namespace lockstep
