#pragma once

#include <optional>
#include <span>
#include <vector>

#include "strategies/collectives/algorithm.hpp"
#include "topologies/devices/device.hpp"
#include "topologies/in_network/switch_forest.hpp"

namespace lockstep {

/// Whether NVSwitches of this GPU generation reduce: NVLink SHARP came with Hopper's NVSwitch
/// (NVIDIA H100 whitepaper v1.04, "Third-generation NVSwitch"), as FP8 came with Hopper's tensor
/// cores, so FP8 support implies it.
[[nodiscard]] bool nvswitch_reduces(const Device& device);

/// The reducing switches of a cluster, as endpoints after its own: those inside nodes, then those
/// of the fabric. A collective uses those of one tier, of both, or none.
class ReducingSwitches {
 public:
  ReducingSwitches() = default;  // none
  /// `nvswitches`: whether NVSwitches reduce. All switches of the fabric's reduction trees do.
  ReducingSwitches(const Cluster& cluster, bool nvswitches);
  /// Only the NVSwitches inside nodes, if those of this device reduce.
  [[nodiscard]] static ReducingSwitches in_nodes(const Cluster& cluster, const Device& device);
  /// Those that a training step may use: in nodes, and `in_fabric` those of the fabric, which
  /// reduce only for who asks for them (SHARP needs InfiniBand switches of that kind, and a
  /// license).
  [[nodiscard]] static ReducingSwitches of_step(const Cluster& cluster, const Device& device,
                                                bool in_fabric);

  /// Trees for lower_with_switches().
  [[nodiscard]] const std::vector<SwitchForest>& forests() const { return forests_; }
  /// Adds the trees, or the part above some ranks, to a rank layout.
  void add_to(RankLayout& layout) const;
  void add_to(RankLayout& layout, std::span<const EndpointId> ranks) const;
  /// Switches above some ranks, as trees: node i is ranks[i], node n + k is switches[k].
  struct Above {
    std::vector<int> parent;           // per node; -1: none
    std::vector<EndpointId> switches;  // that execute these auxiliary ranks
  };
  /// Empty if there are no such switches. Those of the nodes come after those of the fabric, in no
  /// tree.
  [[nodiscard]] Above above(AuxiliaryRanks auxiliary_ranks,
                            std::span<const EndpointId> ranks) const;
  /// Endpoints of the switches for this kind of auxiliary rank; may be empty. Those of the nodes
  /// come after those of the fabric.
  [[nodiscard]] std::vector<EndpointId> endpoints(AuxiliaryRanks auxiliary_ranks) const;

 private:
  [[nodiscard]] const SwitchForest* forest_of(AuxiliaryRanks auxiliary_ranks) const;
  [[nodiscard]] static Above above(const SwitchForest& forest, std::span<const EndpointId> ranks);
  void add(const Cluster& cluster, SwitchTier tier, std::optional<std::size_t>& index);

  std::vector<SwitchForest> forests_;
  std::optional<std::size_t> in_nodes_;  // index into forests_
  std::optional<std::size_t> in_fabric_;
};

}  // namespace lockstep
