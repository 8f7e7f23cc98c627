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

/// NCCL's choice for one collective and size, and its costs.
struct NcclPick {
  NcclChoice choice;
  AlgorithmSpec spec;             // the schedule's algorithm
  std::string text;               // "ring:channels=8, ll128, 24 channels"
  Duration launch;                // cost beyond the links
  std::optional<Duration> model;  // time by NCCL's own model; none: no choice to make
  NcclCostKey cost{};
  /// Of the launch: that of measured costs, assumed for those of another architecture or
  /// algorithm; none: NCCL's own constants.
  std::optional<Provenance> provenance{};
  NcclCostTerms terms{};
};

/// A communicator as NCCL sees it: the choices of its tuning model and their costs, used by all
/// commands. Reductions should take no time on its network, since NCCL's kernels reduce while
/// receiving. Immutable; the tuning must outlive it.
class NcclCommunicator {
 public:
  NcclCommunicator(const NcclTuning& tuning, NcclFilters filters, const Device& device,
                   PlacedCommunicator placed);

  [[nodiscard]] const PlacedCommunicator& placed() const { return placed_; }
  [[nodiscard]] const NcclFacts& facts() const { return facts_; }
  /// Empty if NCCL cannot execute it, or if filters exclude every choice.
  [[nodiscard]] std::optional<NcclPick> pick(Collective collective, Bytes size) const;
  /// Input for a chosen algorithm: its rings follow NVLinks inside a node.
  [[nodiscard]] AlgorithmInput input(const AlgorithmArguments& arguments, int root,
                                     std::optional<Bytes> size) const;
  /// The overhead of an algorithm selected by the user: that of NCCL's choice.
  [[nodiscard]] Duration base_latency(const NcclChoice& choice) const;

 private:
  const NcclTuning* tuning_;
  NcclFilters filters_;
  PlacedCommunicator placed_;
  NcclFacts facts_;
  std::vector<std::vector<int>> node_rings_;
};

}  // namespace lockstep
