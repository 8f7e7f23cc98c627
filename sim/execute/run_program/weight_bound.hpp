#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sim/execute/run_program/execute_program.hpp"

namespace lockstep {

/// By how much the weights of two executions of one model may differ, element by element: a plain
/// tolerance, and what Adam makes of rounding.
///
/// Adam steps by rate * m / (sqrt(v) + epsilon), m and v the moments without their bias. Gradients
/// of two orders of summing differ by rounding, here by no more than delta = 64 ulp(1) G, where G
/// is the largest root of a v in the model: what 64 sums as large as the largest gradient lose
/// each. The step then differs by no more than rate * min(2, delta / (sqrt(v) + epsilon)). Where a
/// gradient's true value is 0 (the bias of keys without rotary positions, which a softmax does not
/// see) that is delta * rate / epsilon = 1e5 delta a step; where gradients are above 1e-8, nothing.
class WeightBound {
 public:
  explicit WeightBound(double tolerance) : tolerance_{tolerance} {}

  /// What step number `step` (from 1) may add, after `reference` has done it by Adam.
  template <class Real>
  void add_adam_step(BasicProgramExecution<Real>& reference, const OptimizerSettings& by, int step);

  /// Of an element of a whole weight.
  [[nodiscard]] double of(const std::string& weight, int position, std::size_t element) const;

 private:
  double tolerance_;
  std::map<std::pair<std::string, int>, std::vector<double>> more_{};  // by name and position
};

}  // namespace lockstep
