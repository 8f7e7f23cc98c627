#pragma once

#include <cstddef>
#include <map>

#include "sim/trace/time_use.hpp"
#include "tools/app/sensitivity/sensitivity.hpp"

namespace lockstep::app {

/// A step with one figure at some factor of its value.
struct FigurePoint {
  Duration step;
  std::map<TimeUse, Duration> path{};  // the critical path by use
};

/// Steps by factor of one figure, each simulated once.
class FigurePoints {
 public:
  FigurePoints(const TrainingStepRequest& request, const Figure& figure,
               const TrainingStepResult& now);

  const FigurePoint& at(double factor);
  [[nodiscard]] const Figure& figure() const { return *figure_; }
  [[nodiscard]] const std::map<double, FigurePoint>& known() const { return points_; }
  /// In which the time is linear.
  [[nodiscard]] double variable(double factor) const {
    return figure_->is_rate() ? 1 / factor : factor;
  }
  [[nodiscard]] std::size_t simulations() const { return points_.size() - 1; }

 private:
  const TrainingStepRequest* request_;
  const Figure* figure_;
  std::map<double, FigurePoint> points_{};  // by factor
};

[[nodiscard]] FigurePoint point_of(const TrainingStepResult& result);

/// The range of linear step times from the value as it is to `limit` times it (below 1: towards
/// smaller values). Without a search, the slope alone.
[[nodiscard]] RangeSide range_side(FigurePoints& points, double limit, bool search);

/// FigureSensitivity::knee. `best`: with the figure far better.
[[nodiscard]] std::optional<double> knee_of(FigurePoints& points, Duration best, double limit);

/// A factor that makes a figure far better.
[[nodiscard]] inline double far_better(const Figure& figure) {
  return figure.is_rate() ? 1e3 : 1e-3;
}

}  // namespace lockstep::app
