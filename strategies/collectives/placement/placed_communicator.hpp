#pragma once

#include <optional>
#include <vector>

#include "strategies/collectives/placement/placement.hpp"
#include "strategies/collectives/placement/reducing_switches.hpp"

namespace lockstep {

/// A communicator on a cluster: the rank layout and hop cost that algorithms see, and the endpoints
/// that execute a schedule's ranks. Collectives alone and in a training step use the same, so that
/// their times agree. Immutable; keeps references to its arguments.
class PlacedCommunicator {
 public:
  /// `network`: the cluster lowered with these switches.
  PlacedCommunicator(const Cluster& cluster, const Network& network,
                     const ReducingSwitches& switches, std::vector<EndpointId> ranks);
  /// The communicator of all ranks of the cluster, which may be a torus.
  PlacedCommunicator(const Cluster& cluster, const Network& network,
                     const ReducingSwitches& switches);

  [[nodiscard]] int size() const { return placement_.ranks; }
  [[nodiscard]] const Cluster& cluster() const { return *cluster_; }
  [[nodiscard]] const Network& network() const { return *network_; }
  [[nodiscard]] const MemberPlacement& placement() const { return placement_; }
  [[nodiscard]] const RankLayout& layout() const { return layout_; }
  [[nodiscard]] const std::optional<AlphaBeta>& hop() const { return hop_; }

  /// Input for an algorithm; its rings follow rank order.
  [[nodiscard]] AlgorithmInput input(const AlgorithmArguments& arguments, int root,
                                     std::optional<Bytes> size) const;
  /// The endpoints that execute a schedule: the ranks, then `count` auxiliary ranks of the given
  /// kind. Empty if there are fewer.
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
