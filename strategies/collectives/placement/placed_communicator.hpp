#pragma once

#include <optional>
#include <vector>

#include "strategies/collectives/placement/placement.hpp"
#include "strategies/collectives/placement/reducing_switches.hpp"

namespace lockstep {

/// Ranks of a cluster that execute collectives together: what algorithms know about how they sit
/// and of what a hop costs, and who plays a schedule's ranks. The same for a collective by itself
/// and inside a training step, so that both cost the same. Immutable; what it is made of must
/// outlive it.
class PlacedCommunicator {
 public:
  /// `network`: the cluster lowered with these switches.
  PlacedCommunicator(const Cluster& cluster, const Network& network,
                     const ReducingSwitches& switches, std::vector<EndpointId> ranks);
  /// Of all ranks of the cluster, which may be a torus.
  PlacedCommunicator(const Cluster& cluster, const Network& network,
                     const ReducingSwitches& switches);

  [[nodiscard]] int size() const { return placement_.ranks; }
  [[nodiscard]] const Cluster& cluster() const { return *cluster_; }
  [[nodiscard]] const Network& network() const { return *network_; }
  [[nodiscard]] const MemberPlacement& placement() const { return placement_; }
  [[nodiscard]] const RankLayout& layout() const { return layout_; }
  [[nodiscard]] const std::optional<AlphaBeta>& hop() const { return hop_; }
  /// The node that its ranks are all GPUs of, in their order.
  [[nodiscard]] std::optional<int> whole_node() const;

  /// What an algorithm is given; its rings go by rank.
  [[nodiscard]] AlgorithmInput input(const AlgorithmArguments& arguments, int root,
                                     std::optional<Bytes> size) const;
  /// The end points that play the ranks of a schedule: its own, then `count` of those that
  /// `auxiliary_ranks` names. Empty where there are fewer.
  [[nodiscard]] std::vector<EndpointId> members(AuxiliaryRanks auxiliary_ranks, int count) const;

 private:
  [[nodiscard]] std::vector<EndpointId> ranks() const;

  const Cluster* cluster_;
  const Network* network_;
  const ReducingSwitches* switches_;
  std::optional<std::vector<EndpointId>> ranks_;  // none: all
  MemberPlacement placement_;
  RankLayout layout_;
  std::optional<AlphaBeta> hop_;
};

}  // namespace lockstep
