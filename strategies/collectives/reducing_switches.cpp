#include "strategies/collectives/reducing_switches.hpp"

#include <utility>

namespace lockstep {

ReducingSwitches::ReducingSwitches(const Cluster& cluster, bool nvswitches) {
  if (nvswitches) add(cluster, SwitchTier::nvswitch, in_nodes_);
  add(cluster, SwitchTier::fabric, in_fabric_);
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

std::span<const EndpointId> ReducingSwitches::endpoints(Helpers helpers) const {
  if (helpers == Helpers::node_switches && in_nodes_) return forests_[*in_nodes_].switches;
  if (helpers == Helpers::fabric_switches && in_fabric_) return forests_[*in_fabric_].switches;
  return {};
}

}  // namespace lockstep
