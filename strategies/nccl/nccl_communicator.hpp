#pragma once

#include <optional>
#include <string>
#include <vector>

#include "strategies/collectives/placement/placed_communicator.hpp"
#include "strategies/collectives/registry/automatic_choice.hpp"
#include "strategies/collectives/registry/spec.hpp"
#include "strategies/nccl/cost_terms.hpp"
#include "strategies/nccl/facts.hpp"
#include "strategies/nccl/nccl_choice.hpp"
#include "strategies/nccl/nccl_filter.hpp"
#include "strategies/nccl/symmetric/symmetric_kernels.hpp"
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
  /// For buffers in symmetric windows: NCCL's name of the kernel, or "copy engines"; empty: none of
  /// these, and only then `cost` and `terms` are set.
  std::string windows_kernel{};
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
  /// Empty if NCCL cannot execute it, or if filters exclude every choice. `how`: with symmetric
  /// windows in one NVLink domain the choice is among symmetric kernels and copy engines; filters
  /// do not count for these. With collnet switches of the network reduce, where `sharp` can be
  /// played.
  [[nodiscard]] std::optional<NcclPick> pick(Collective collective, Bytes size,
                                             const AutomaticChoice& how = {}) const;
  /// Input for a chosen algorithm: its rings follow NVLinks inside a node.
  [[nodiscard]] AlgorithmInput input(const AlgorithmArguments& arguments, int root,
                                     std::optional<Bytes> size) const;
  /// The overhead of an algorithm selected by the user: that of NCCL's choice.
  [[nodiscard]] Duration base_latency(const NcclChoice& choice) const;
  /// That of an algorithm of copy engines.
  [[nodiscard]] Duration copy_engine_launch() const;

 private:
  /// The facts of one collective.
  [[nodiscard]] NcclFacts facts_for(Collective collective, const AutomaticChoice& how) const;
  [[nodiscard]] std::optional<NcclPick> pick_of_windows(Collective collective, Bytes size,
                                                        bool zero_ctas) const;
  [[nodiscard]] NcclPick symmetric(const NcclSymmetricEstimate& kernel, Bytes size) const;
  [[nodiscard]] NcclPick by_copy_engines(Collective collective) const;

  const NcclTuning* tuning_;
  NcclFilters filters_;
  PlacedCommunicator placed_;
  NcclFacts facts_;
  std::vector<std::vector<int>> node_rings_;
  std::vector<std::vector<int>> node_paths_;
};

}  // namespace lockstep
