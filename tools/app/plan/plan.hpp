#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tools/app/plan/search.hpp"
#include "tools/app/step/memory_changes.hpp"
#include "tools/app/step/run_step.hpp"

/// The best layouts of a space with a certificate of optimality.
namespace lockstep::app {

/// Which points of the space a search decides.
enum class PlanExtent : std::uint8_t { space, shard, merged_shards };

struct PlanRequest {
  SpaceRequest space{};
  std::string objective{};            // empty: the space file's, or step_time
  std::vector<std::string> pareto{};  // names of metrics, instead of the objective
  std::vector<std::string> where{};
  PlanPrices prices{};
  std::vector<std::string> rules_off{};  // "nvlink_domain"
  std::size_t top = 5;
  std::size_t threads = 0;
  std::string explain{};      // "tp=8,pp=16"
  std::string current{};      // scenario file with the user's own layout; empty: the scenario's
  std::string calibration{};  // file; empty: the shipped parameters
  PartChanges changes{};      // of every layout
  std::uint64_t shard = 0;
  std::uint64_t shards = 1;
  std::optional<std::uint64_t> most_simulated{};
  std::optional<double> most_seconds{};
  std::function<bool()> stop{};
  std::function<void(const SearchProgress&)> on_progress{};
  std::vector<SimulatedLayout> known{};
  std::function<void(const SimulatedLayout&)> on_simulated{};
  bool merged_shards = false;  // the stores merged do not cover the whole space
};

/// A reference layout, simulated for comparison whatever its rank.
enum class PlanBaseline : std::uint8_t { none, current_layout, plain_data_parallelism };

/// A layout of the result, as `run` simulates it.
struct PlanRow {
  std::size_t rank = 0;  // from 1; 0: not one of the best
  PlanBaseline baseline = PlanBaseline::none;
  std::uint64_t index = 0;
  std::vector<std::string> overrides{};                // of setting and layout, in `--set` syntax
  double bound_s = 0;                                  // lower bound on the step time
  std::optional<TrainingStepResult> step{};            // none: does not fit, or invalid
  std::optional<Duration> unchanged{};                 // the step without the changes, if any
  std::shared_ptr<const MemoryShortfall> shortfall{};  // if it does not fit
  std::string refused{};                               // why the layout is invalid; else empty
  std::vector<std::optional<double>> metrics{};        // as plan_metrics()
  std::string regime{};  // limiting factor: compute, memory, tp, dp, pp, cp, ep, pipeline, host
};

/// Explanation of one requested layout (`--explain`).
struct PlanExplanation {
  std::string asked;
  std::optional<PlanRow> row{};  // the best layout with these values
  std::uint64_t points = 0;      // of the space with these values
  RuleCounts rules{};            // why they are invalid, if all are
  std::uint64_t memory = 0;
  std::uint64_t limits = 0;
  std::optional<Bytes> least_memory{};  // least memory bound among them
  std::optional<Bytes> capacity{};
  std::optional<PlanRow> nearest{};    // valid layout that differs in one or two keys
  std::vector<std::string> changed{};  // the keys it differs in
};

/// Power assumed for energy: the maximum power of the device file, host excluded.
struct AssumedPower {
  std::string device;      // its id
  std::int64_t watts = 0;  // of one GPU

  friend bool operator==(const AssumedPower&, const AssumedPower&) = default;
};

struct PlanResult {
  PlanSpace space;
  std::string space_hash;
  std::vector<PlanRow> rows{};       // the best, or the front
  std::vector<PlanRow> baselines{};  // the current layout, plain data parallelism
  std::vector<SimulatedLayout> simulated{};
  SearchCertificate certificate{};
  std::vector<SearchCell> cells{};
  bool complete = true;
  MetricInfo objective;
  std::vector<MetricInfo> pareto{};
  std::optional<PlanExplanation> explanation{};
  std::vector<AssumedPower> assumed_power{};  // one per device
  PlanExtent extent = PlanExtent::space;
  std::uint64_t shard = 0;  // of `shards`, from 0
  std::uint64_t shards = 1;
  /// Of each simulated layout, as plan_metrics().
  std::vector<std::vector<std::optional<double>>> simulated_metrics{};
  PartChanges changes{};              // as requested
  std::vector<std::string> bounds{};  // what changes make of the bounds
};

/// Decides the points of a space: by search, or from stores of earlier searches. The request
/// includes the goals of the space file.
using DecidePoints =
    std::function<SearchResult(const PlanSpace&, const std::vector<std::unique_ptr<PlanSetting>>&,
                               const SearchOptions&, const PlanRequest&)>;
/// As search_space().
[[nodiscard]] SearchResult decide_by_search(
    const PlanSpace& space, const std::vector<std::unique_ptr<PlanSetting>>& settings,
    const SearchOptions& options, const PlanRequest& request);

/// Errors: RequestError, ConfigError; Refusal, with counts per rule, if no layout of the space is
/// valid and fits.
[[nodiscard]] PlanResult plan(const PlanRequest& request,
                              const DecidePoints& decide = decide_by_search);
/// plan() for a space that exists already.
[[nodiscard]] PlanResult plan_space(PlanSpace space, const PlanRequest& request,
                                    const DecidePoints& decide);

/// The user's own layout in `--set` syntax: from `request.current`, else from the scenario.
[[nodiscard]] std::optional<std::vector<std::string>> current_layout(const PlanSpace& space,
                                                                     const PlanRequest& request);

/// The point of a space as overrides of its base scenario. Errors: RequestError for a point beyond
/// the space, or one that a rule drops, with the rule; ConfigError.
[[nodiscard]] std::vector<std::string> point_overrides(const PlanSpace& space,
                                                       const PlanRequest& request,
                                                       std::uint64_t index);

/// All layout keys of a layout, dp included, in `--set` syntax.
[[nodiscard]] std::vector<std::string> layout_overrides(const ParallelConfig& parallel);

}  // namespace lockstep::app
