#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "sim/trace/time_use.hpp"
#include "tools/app/sensitivity/figure.hpp"
#include "tools/app/step/memory_changes.hpp"
#include "tools/app/step/run_step.hpp"

/// How the time of a training step depends on figures of its hardware.
namespace lockstep::app {

/// The step time is linear in 1 / value of a rate and in the value of a duration as long as its
/// critical path and the shares of links stay the same; so it is inside a range.
inline constexpr double kLinearTolerance = 1e-6;  // of the step time
/// Beyond its knee, a figure brings less than this fraction of the step time.
inline constexpr double kKneeFraction = 1e-3;

/// From the value as it is in one direction.
struct RangeSide {
  double factor = 1;         // to the end of the range; 1: there is none, the time has a kink here
  bool open = false;         // linear up to the limit of the request
  double elasticity = 0;     // % of step time per % of value, at the value
  double slope_s = 0;        // seconds per 1 / factor of a rate, per factor of a duration
  Duration end{};            // the step at the end of the range, simulated
  double beyond_factor = 1;  // a value beyond the range, simulated; 1: the range is open
  Duration beyond{};         // the step there
  /// What changes there on the critical path, against what the range predicts; none: nothing by
  /// class of work.
  std::optional<TimeUse> more{};
  std::optional<TimeUse> less{};
};

struct FigureSensitivity {
  Figure figure;
  RangeSide lower;  // towards smaller values
  RangeSide upper;
  /// The best step that this figure brings alone: with a rate a thousand times as high, a duration
  /// a thousandth.
  Duration best{};
  /// The worst value with which the step is at most kKneeFraction above `best`, as a factor. None:
  /// even the worst of the request is.
  std::optional<double> knee{};

  /// At the value: the mean where both sides differ.
  [[nodiscard]] double elasticity() const { return (lower.elasticity + upper.elasticity) / 2; }
};

/// A change of the layout to the next smaller or larger value of a key.
struct LayoutStep {
  LayoutChange change;              // "parallel.tp=8", "parallel.dp=4"
  std::optional<Duration> step{};   // none: impossible
  std::string problem{};            // why it is
  MemoryFit fit = MemoryFit::fits;  // of the change
};

/// Time that the figure's spread makes of the step.
struct SpreadEffect {
  std::size_t figure = 0;  // index in SensitivityResult::figures
  double spread = 0;       // relative, both ways
  std::int64_t rows = 0;   // measurements it comes from; 0: given
  Duration low{};          // the step with the better value
  Duration high{};         // with the worse one
};

struct SensitivityRequest {
  TrainingStepRequest step;
  std::vector<std::string> figures{};  // names; empty: all
  double limit = 4;                    // ranges are searched from 1 / limit to limit; above 1
  bool ranges = true;                  // else elasticities alone
  bool layout = true;                  // changes of the layout
  /// Relative spreads by figure, e.g. {"matmul rate", 0.05}, instead of the shipped ones.
  std::vector<std::pair<std::string, double>> spreads{};
  bool shipped_spreads = true;  // configs/validation/spreads.json for figures without one above
  OnProgress on_progress{};
};

struct SensitivityResult {
  TrainingStepResult step;
  std::vector<FigureSensitivity> figures{};  // the highest elasticity first
  std::vector<LayoutStep> layout{};          // the fastest first, impossible ones last
  std::vector<SpreadEffect> spreads{};       // the largest first; figures without one are left out
  std::size_t simulations = 0;
  double limit = 4;  // as requested
};

/// Errors: as run_step(); RequestError for an unknown figure.
[[nodiscard]] SensitivityResult sensitivity(const SensitivityRequest& request);

/// A step with one figure at another value.
[[nodiscard]] TrainingStepResult step_with(const TrainingStepRequest& request, const Figure& figure,
                                           double factor);

}  // namespace lockstep::app
