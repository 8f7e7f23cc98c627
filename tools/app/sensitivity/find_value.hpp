#pragma once

#include <functional>
#include <optional>
#include <string>

#include "tools/app/sensitivity/figure.hpp"

namespace lockstep::app {

struct FindValueRequest {
  TrainingStepRequest step;
  std::string figure;  // by name
  /// Whether a step is as wanted. Better values of the figure must not make it false.
  std::function<bool(const TrainingStepResult&)> wanted;
};

/// The worst value of a figure with which a step is as wanted: the lowest of a rate, the highest of
/// a duration.
struct FoundValue {
  Figure figure;
  TrainingStepResult now;                  // with the value as it is
  std::optional<double> factor{};          // none: not even at the best
  bool any = false;                        // the worst value tried is good enough
  std::optional<TrainingStepResult> at{};  // with the value found, else with the best
  double tried = 1;                        // the best, or the worst, as a factor
  std::size_t simulations = 0;
};

/// Values from a thousandth to a thousand times the value as it is; found within a thousandth.
/// Errors: as run_step(); RequestError for an unknown figure.
[[nodiscard]] FoundValue find_value(const FindValueRequest& request);

}  // namespace lockstep::app
