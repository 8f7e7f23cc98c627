#pragma once

#include <optional>
#include <span>
#include <vector>

#include "strategies/collectives/algorithm.hpp"
#include "topologies/devices/device.hpp"
#include "topologies/in_network/switch_forest.hpp"

namespace lockstep {

/// Whether the NVSwitches of such GPUs reduce: NVLink SHARP came with Hopper's NVSwitch (NVIDIA
/// H100 whitepaper v1.04, "Third-generation NVSwitch"), as FP8 came with Hopper's tensor cores: a
/// GPU without the one has not the other.
[[nodiscard]] bool nvswitch_reduces(const Device& device);

/// The switches of a cluster that reduce, as further end points behind its own: those inside the
/// nodes, then those of the fabric. One of each tier plays in a collective, or none.
class ReducingSwitches {
 public:
  ReducingSwitches() = default;  // none
  /// `nvswitches`: that those inside the nodes can reduce. All that the fabric's trees are made of
  /// do.
  ReducingSwitches(const Cluster& cluster, bool nvswitches);
  /// Those inside the nodes alone, where such GPUs have NVSwitches that reduce.
  [[nodiscard]] static ReducingSwitches in_nodes(const Cluster& cluster, const Device& device);

  /// The trees that there are, as lower_with_switches() wants them.
  [[nodiscard]] const std::vector<SwitchForest>& forests() const { return forests_; }
  /// Gives algorithms all of them, or of those above some of the ranks.
  void add_to(RankLayout& layout) const;
  void add_to(RankLayout& layout, std::span<const EndpointId> ranks) const;
  /// Switches above some of the ranks, as trees over these: node i is ranks[i], node n + k is
  /// switches[k].
  struct Above {
    std::vector<int> parent;           // per node; -1: none
    std::vector<EndpointId> switches;  // that play such auxiliary ranks
  };
  /// Empty where there are no such switches.
  [[nodiscard]] Above above(AuxiliaryRanks auxiliary_ranks,
                            std::span<const EndpointId> ranks) const;
  /// The end points of those that play for such auxiliary ranks; empty if there are none.
  [[nodiscard]] std::span<const EndpointId> endpoints(AuxiliaryRanks auxiliary_ranks) const;

 private:
  [[nodiscard]] const SwitchForest* forest_of(AuxiliaryRanks auxiliary_ranks) const;
  void add(const Cluster& cluster, SwitchTier tier, std::optional<std::size_t>& index);

  std::vector<SwitchForest> forests_;
  std::optional<std::size_t> in_nodes_;  // index into forests_
  std::optional<std::size_t> in_fabric_;
};

}  // namespace lockstep
