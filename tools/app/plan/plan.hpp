#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tools/app/plan/search.hpp"
#include "tools/app/step/memory_changes.hpp"
#include "tools/app/step/run_step.hpp"

/// The best layouts of a space, and the proof that they are.
namespace lockstep::app {

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
  std::uint64_t shard = 0;
  std::uint64_t shards = 1;
  std::optional<std::uint64_t> most_simulated{};
  std::optional<double> most_seconds{};
  std::function<bool()> stop{};
  std::function<void(const SearchProgress&)> on_progress{};
  std::vector<SimulatedLayout> known{};
  std::function<void(const SimulatedLayout&)> on_simulated{};
  std::string part{};  // words for what the search is of, where it is not the whole space
};

/// A layout of the result, as `run` simulates it.
struct PlanRow {
  std::size_t rank = 0;  // from 1; 0: not one of the best
  std::string label{};   // of such a row: "current layout"
  std::uint64_t index = 0;
  std::vector<std::string> overrides{};                // of the setting and the layout, as `--set`
  double bound_s = 0;                                  // lower bound on the step time
  std::optional<TrainingStepResult> step{};            // none: it does not fit, or is refused
  std::shared_ptr<const MemoryShortfall> shortfall{};  // where it does not fit
  std::string refused{};                               // why there is no such layout
  std::vector<std::optional<double>> metrics{};        // as plan_metrics()
  std::string regime{};  // what limits it: compute, memory, tp, dp, pp, cp, ep, pipeline, host
};

/// What is said of one layout that was asked for.
struct PlanExplanation {
  std::string asked;
  std::optional<PlanRow> row{};  // the best layout that has these values
  std::uint64_t points = 0;      // of the space that have them
  RuleCounts rules{};            // why they are no layouts, where none is
  std::uint64_t memory = 0;
  std::uint64_t limits = 0;
  std::optional<Bytes> least_memory{};  // bound of the one that needs least
  std::optional<Bytes> capacity{};
  std::optional<PlanRow> nearest{};    // differs in one key, or two
  std::vector<std::string> changed{};  // those keys
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
  std::vector<std::string> notes{};
  std::string part{};  // as in the request; "shard 2 of 8"
  /// Of each simulated layout, as plan_metrics().
  std::vector<std::vector<std::optional<double>>> simulated_metrics{};
};

/// What decides the points of a space: a search, or stores of earlier ones. The request is
/// complete: with what the space file asks.
using DecidePoints =
    std::function<SearchResult(const PlanSpace&, const std::vector<std::unique_ptr<PlanSetting>>&,
                               const SearchOptions&, const PlanRequest&)>;
/// As search_space().
[[nodiscard]] SearchResult decide_by_search(
    const PlanSpace& space, const std::vector<std::unique_ptr<PlanSetting>>& settings,
    const SearchOptions& options, const PlanRequest& request);

/// Errors: RequestError, ConfigError, Refusal where no layout of the space is possible or fits
/// (with the counts in its message).
[[nodiscard]] PlanResult plan(const PlanRequest& request,
                              const DecidePoints& decide = decide_by_search);
/// The same of a space that is made already.
[[nodiscard]] PlanResult plan_space(PlanSpace space, const PlanRequest& request,
                                    const DecidePoints& decide);

/// The layout to compare with: that of `request.current`, or the scenario's; as `--set` values.
[[nodiscard]] std::optional<std::vector<std::string>> current_layout(const PlanSpace& space,
                                                                     const PlanRequest& request);

/// A layout as `--set` values: all layout keys, dp included.
[[nodiscard]] std::vector<std::string> layout_overrides(const ParallelConfig& parallel);

}  // namespace lockstep::app
