#pragma once

#include <optional>
#include <span>
#include <vector>

#include "strategies/collectives/algorithm.hpp"
#include "topologies/switch_forest.hpp"

namespace lockstep {

/// The switches of a cluster that reduce, as further end points behind its own: those inside the
/// nodes, then those of the fabric. One of each tier plays in a collective, or none.
class ReducingSwitches {
 public:
  ReducingSwitches() = default;  // none
  /// `nvswitches`: that those inside the nodes can reduce. All that the fabric's trees are made of
  /// do.
  ReducingSwitches(const Cluster& cluster, bool nvswitches);

  /// The trees that there are, as lower_with_switches() wants them.
  [[nodiscard]] const std::vector<SwitchForest>& forests() const { return forests_; }
  /// Tells algorithms of them.
  void add_to(RankLayout& layout) const;
  /// The end points of those that play for such helpers; empty where there are none.
  [[nodiscard]] std::span<const EndpointId> endpoints(Helpers helpers) const;

 private:
  void add(const Cluster& cluster, SwitchTier tier, std::optional<std::size_t>& index);

  std::vector<SwitchForest> forests_;
  std::optional<std::size_t> in_nodes_;  // index into forests_
  std::optional<std::size_t> in_fabric_;
};

}  // namespace lockstep
