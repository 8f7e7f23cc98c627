#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "strategies/calibration/calibration.hpp"
#include "strategies/nccl/tuning_data.hpp"
#include "strategies/stacks/software_stack.hpp"
#include "strategies/step/bound/layout_bound.hpp"
#include "strategies/step/simulate.hpp"
#include "strategies/step/simulated_cluster.hpp"
#include "tools/app/inputs/cluster_request.hpp"
#include "tools/app/plan/space.hpp"
#include "tools/app/step/run_step.hpp"

namespace lockstep::app {

/// Defaults of a layout that depend on its ZeRO stage and pipelining: the software stack and its
/// behavior.
struct LayoutDefaults {
  ParallelConfig parallel;
  std::string stack;
  std::optional<BucketDefaults> bucket{};  // of the stack; their size also depends on the replicas
  bool specifies_bucket = false;           // the scenario
  bool specifies_gradients = false;        // the same, their precision

  /// Sets what a layout takes from its stack, or from the scenario instead. Its degrees, schedule,
  /// ZeRO stage and state.offload are set and stay.
  void apply(ParallelConfig& to) const;
  /// Sets the precision of gradients again, after shard_ranks and state.offload are set.
  void take_gradients(ParallelConfig& to) const;
};

/// Slow ranks, modified and failed links, and the fidelity, the same for all layouts.
struct PartChanges {
  std::vector<RankSpeedRange> speeds{};
  LinkChangeRequest links{};
  std::string text{};     // as options: "--set-rank 17 compute=0.8"
  std::string options{};  // as JSON, for stores
  Fidelity fidelity = Fidelity::automatic;

  [[nodiscard]] bool of_parts() const { return !speeds.empty() || links.any(); }
  [[nodiscard]] bool any() const { return of_parts() || fidelity != Fidelity::automatic; }
};

/// One setting of a space: model, cluster, costs. Immutable; shared by threads.
class PlanSetting {
 public:
  /// `calibration`: calibration file; empty: shipped parameters. Errors: ConfigError, RequestError.
  PlanSetting(const PlanSpace& space, std::uint64_t index, const Calibration& calibration,
              const PartChanges& changes = {});

  [[nodiscard]] std::uint64_t index() const { return index_; }
  /// With the cluster as it is without changes.
  [[nodiscard]] const Scenario& scenario() const { return scenario_; }
  [[nodiscard]] int ranks() const { return scenario_.cluster.cluster.ranks(); }
  [[nodiscard]] int gpus_per_node() const { return scenario_.cluster.cluster.gpus_per_node(); }
  [[nodiscard]] std::int64_t global_batch() const { return scenario_.parallel.global_batch; }
  [[nodiscard]] std::optional<Bytes> memory_capacity() const;
  /// None if the stack does not support such layouts.
  [[nodiscard]] const LayoutDefaults* defaults(int zero, bool pipelined) const;
  [[nodiscard]] const CostModel& cost(const std::string& stack) const { return *costs_.at(stack); }
  [[nodiscard]] const SimulationOptions& options(const std::string& stack) const {
    return options_.at(stack);
  }
  [[nodiscard]] const std::shared_ptr<const SimulatedCluster>& simulated(
      const std::string& stack) const {
    return simulated_.at(stack);
  }
  [[nodiscard]] const NcclTuning& tuning(const std::string& stack) const {
    return tunings_.at(stack);
  }
  [[nodiscard]] bool has_changed_links() const { return changed_.has_value(); }
  /// Of the fastest rank; at least 1.
  [[nodiscard]] double highest_speed() const { return highest_speed_; }
  /// Whether ranks are slow for a part of the step.
  [[nodiscard]] bool has_windows() const { return has_windows_; }
  /// A lower bound with all ranks at the device's speed as one with the ranks as they are.
  [[nodiscard]] Duration with_ranks_as_they_are(Duration bound) const;
  /// Data shared by the bounds of all layouts under a stack.
  [[nodiscard]] const std::shared_ptr<ProfileCache>& profiles(const std::string& stack) const {
    return profiles_.at(stack);
  }
  /// Model FLOPs of one step, and tokens (samples of other models).
  [[nodiscard]] double model_flops() const { return model_flops_; }
  [[nodiscard]] double samples() const { return samples_; }
  /// Dense peak of the precision, FLOP/s.
  [[nodiscard]] std::optional<double> peak() const { return peak_; }

 private:
  void apply(const PartChanges& changes);
  void add_stack(const Scenario& scenario, const Calibration& calibration);

  std::uint64_t index_;
  Scenario scenario_;
  RankSpeeds speeds_{};
  Fidelity fidelity_ = Fidelity::automatic;
  std::optional<Cluster> changed_{};  // simulated instead of the scenario's
  double highest_speed_ = 1;
  bool has_windows_ = false;
  std::array<std::optional<LayoutDefaults>, 8> defaults_{};
  std::map<std::string, std::unique_ptr<CostModel>> costs_;
  std::map<std::string, SimulationOptions> options_;
  std::map<std::string, std::shared_ptr<const SimulatedCluster>> simulated_;
  std::map<std::string, NcclTuning> tunings_;
  std::map<std::string, std::shared_ptr<ProfileCache>> profiles_;
  double model_flops_ = 0;
  double samples_ = 0;
  std::optional<double> peak_;
};

/// How bounds, which are of the unchanged cluster, remain lower bounds with changes, as notes.
[[nodiscard]] std::vector<std::string> bound_notes(
    const std::vector<std::unique_ptr<PlanSetting>>& settings, const PartChanges& changes);

/// Computes bounds of a setting's layouts; not thread-safe.
class SettingBounds {
 public:
  explicit SettingBounds(const PlanSetting& setting) : setting_{setting} {}

  [[nodiscard]] LayoutBounds& of(const std::string& stack) { return both(stack).layouts; }
  [[nodiscard]] OperationBounds& operations(const std::string& stack) {
    return both(stack).operations;
  }
  /// Key of the first problem that layout_problems() finds in the layout's shapes ("tp"); empty if
  /// none. Cached by shape.
  [[nodiscard]] const std::string& shape_problem(const ParallelConfig& parallel);

 private:
  struct Bounds {
    explicit Bounds(const PlanSetting& setting, const std::string& stack);

    OperationBounds operations;
    LayoutBounds layouts;
  };
  [[nodiscard]] Bounds& both(const std::string& stack);

  const PlanSetting& setting_;
  std::map<std::string, Bounds> bounds_;
  std::unordered_map<fold::Key, std::string, KeyHash> shapes_;
};

}  // namespace lockstep::app
