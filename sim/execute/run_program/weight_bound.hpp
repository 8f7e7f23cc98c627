#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sim/execute/run_program/execute_program.hpp"

namespace lockstep {

/// Bound on the difference between weights of two executions of one model, per element: a plain
/// tolerance plus rounding amplified by Adam.
/// Adam's step is rate * m / (sqrt(v) + epsilon), with bias-corrected moments m and v. Gradients
/// summed in different orders differ by rounding, assumed to be at most delta = 64 ulp(1) G, where
/// G is the largest sqrt(v) in the model: the loss of 64 sums of the size of the largest gradient.
/// The step then differs by at most rate * min(2, delta / (sqrt(v) + epsilon)). For a gradient
/// whose true value is 0 (a key bias without rotary positions, on which a softmax does not depend)
/// that is delta * rate / epsilon = 1e5 delta per step; for gradients above 1e-8 it is negligible.
class WeightBound {
 public:
  explicit WeightBound(double tolerance) : tolerance_{tolerance} {}

  /// Adds the bound of step number `step` (1-based), after `reference` has executed it with Adam.
  template <class Real>
  void add_adam_step(BasicProgramExecution<Real>& reference, const OptimizerSettings& by, int step);

  /// Bound of an element of an unsharded weight, or of what DiLoCo's outer loop keeps of it.
  [[nodiscard]] double of(const std::string& weight, int position, std::size_t element) const;

 private:
  double tolerance_;
  std::map<std::pair<std::string, int>, std::vector<double>> more_{};  // by name and position
};

}  // namespace lockstep
