#pragma once

#include <optional>
#include <string>
#include <vector>

#include "strategies/collectives/placement/placed_communicator.hpp"
#include "strategies/collectives/registry/spec.hpp"
#include "strategies/nccl/cost_terms.hpp"
#include "strategies/nccl/facts.hpp"
#include "strategies/nccl/nccl_choice.hpp"
#include "strategies/nccl/nccl_filter.hpp"
#include "strategies/nccl/tuning_data.hpp"
#include "topologies/devices/device.hpp"

namespace lockstep {

/// What NCCL does in a communicator for one collective at one size, and what that costs.
struct NcclPick {
  NcclChoice choice;
  AlgorithmSpec spec;             // that plays it
  std::string text;               // "ring:channels=8, ll128, 24 channels"
  Duration launch;                // what it costs beside the links
  std::optional<Duration> model;  // by NCCL's own model; none: it does not choose here
  NcclCostKey cost{};
  NcclCostTerms terms{};
};

/// A communicator as NCCL sees it: its tuning model's pick and what that costs, wherever the
/// communicator's collectives are played. The ranks' reductions should cost no time on its network:
/// NCCL's kernels add up what comes in while it does. Immutable; its tuning must outlive it.
class NcclCommunicator {
 public:
  NcclCommunicator(const NcclTuning& tuning, NcclFilters filters, const Device& device,
                   PlacedCommunicator placed);

  [[nodiscard]] const PlacedCommunicator& placed() const { return placed_; }
  [[nodiscard]] const NcclFacts& facts() const { return facts_; }
  /// Empty where NCCL has no way to do it, or none that its choices leave.
  [[nodiscard]] std::optional<NcclPick> pick(Collective collective, Bytes size) const;
  /// What an algorithm of a pick is given: its rings go along NVLinks inside a node.
  [[nodiscard]] AlgorithmInput input(const AlgorithmArguments& arguments, int root,
                                     std::optional<Bytes> size) const;
  /// The same overhead for an algorithm that a user names: what NCCL's pick costs to launch.
  [[nodiscard]] Duration base_latency(const NcclChoice& choice) const;

 private:
  const NcclTuning* tuning_;
  NcclFilters filters_;
  PlacedCommunicator placed_;
  NcclFacts facts_;
  std::vector<std::vector<int>> node_rings_;
};

}  // namespace lockstep
