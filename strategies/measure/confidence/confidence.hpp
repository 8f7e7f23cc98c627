#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "sim/base/units.hpp"
#include "strategies/measure/validation/run_kind.hpp"

/// How far a simulated step time may be off, from how far others of its kind were.
namespace lockstep {

/// A measured run and the error of its simulated step time, signed and relative.
struct ValidatedRun {
  RunKind kind{};
  std::string group{};
  double error = 0;
};

/// A property of a run that no validated run has.
struct Unchecked {
  std::string property{};  // "GPU"
  std::string value{};     // "b200-sxm-180gb"
  std::string checked{};   // what there is: "a100-sxm4-80gb, h100-sxm5-80gb"
};

struct Confidence {
  Duration expected{};  // the simulated step times the weighted median of measured over simulated
  /// With probability `share` the step takes between these; both times above are among them.
  /// Meaningful inside the validated domain only.
  Duration low{};
  Duration high{};
  double share = 0;
  std::size_t runs = 0;               // that it comes from
  std::vector<std::string> groups{};  // theirs, most frequent first
  std::vector<Unchecked> outside{};   // empty: inside the validated domain

  /// Outside the validated domain: no interval is known.
  [[nodiscard]] bool extrapolated() const { return !outside.empty(); }
};

/// Of measured over simulated.
struct MeasuredRange {
  double low = 1;
  double high = 1;
  double median = 1;
};

/// Meant to hold 80 % of runs of groups that are not checked yet: the middle of measured over
/// simulated among the nearest runs by software, GPU, kinds of parallelism, precision, and by the
/// logarithms of GPUs, parameters and microbatch; of one group at most a third of them, so that no
/// single source decides. `checked` has at least one run.
[[nodiscard]] MeasuredRange measured_over_simulated(const RunKind& kind,
                                                    const std::vector<ValidatedRun>& checked);

/// The same for a simulated step time, with where it comes from.
[[nodiscard]] Confidence confidence_of(Duration step, const RunKind& kind,
                                       const std::vector<ValidatedRun>& checked);

/// How far apart two kinds are; 0 of equal ones.
[[nodiscard]] double distance_between(const RunKind& a, const RunKind& b);

}  // namespace lockstep
