#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/units.hpp"
#include "strategies/measure/validation/run_kind.hpp"

/// Expected error of a simulated step time, from the errors of similar validated runs.
namespace lockstep {

/// A measured run with the signed relative error of its simulated step time.
struct ValidatedRun {
  RunKind kind{};
  std::string group{};
  double error = 0;
};

/// A property of a run that no validated run has.
struct ExtrapolatedProperty {
  std::string property{};  // "GPU"
  std::string value{};     // "b200-sxm-180gb"
  std::string checked{};   // what validated runs have: "a100-sxm4-80gb, h100-sxm5-80gb"
};

/// Half the width of an interval, in spreads of validated runs.
struct IntervalWidth {
  double inside = 1;
  double outside = 2;  // of runs with a property that no validated run has
};

struct ValidatedRuns {
  std::vector<ValidatedRun> runs{};
  IntervalWidth width{};
};

struct Confidence {
  Duration expected{};  // simulated step time * median of measured / simulated
  /// Prediction interval: the measured step time lies between these with probability `share`.
  Duration low{};
  Duration high{};
  std::optional<double> share{};                // empty: extrapolated
  std::size_t runs = 0;                         // number of validated runs used
  std::vector<std::string> groups{};            // of these runs, most frequent first
  std::vector<ExtrapolatedProperty> outside{};  // empty: inside the validated domain

  /// Outside the validated domain: the interval is wider, and its probability is not known.
  [[nodiscard]] bool extrapolated() const { return !outside.empty(); }
};

/// Range of measured / simulated.
struct MeasuredRange {
  double low = 1;
  double high = 1;
  double median = 1;
};

/// The widths whose intervals should contain 80 % of the runs of a new group (inside), and contain
/// 95 % of those of groups that are left out (outside); each group in turn, counted once. Without
/// two groups the default.
[[nodiscard]] IntervalWidth interval_width(const std::vector<ValidatedRun>& checked);

/// The interval of measured / simulated around the median of the nearest validated runs: by
/// software, GPU, kinds of parallelism, precision and the logarithms of GPUs, parameters and
/// microbatch; at most a third of them from one group, so that no single source dominates. Median
/// and spread are theirs with weight 1 / (1 + their mean distance), else those of all runs, each
/// group counted once: what runs of other sources say of a new one is mostly what all say.
/// Requires at least one run in `checked`.
[[nodiscard]] MeasuredRange measured_over_simulated(const RunKind& kind,
                                                    const std::vector<ValidatedRun>& checked,
                                                    double width);

/// The same for a simulated step time, with the runs it is based on. Of a model with only a few
/// validated runs the interval also contains the errors of those.
[[nodiscard]] Confidence confidence_of(Duration step, const RunKind& kind,
                                       const ValidatedRuns& checked);

/// Distance between two kinds of run; 0 if equal.
[[nodiscard]] double distance_between(const RunKind& a, const RunKind& b);

}  // namespace lockstep
