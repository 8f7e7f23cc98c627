#pragma once

#include <functional>
#include <vector>

namespace lockstep {

/// A parameter to fit, within bounds.
struct FreeFigure {
  double* value = nullptr;
  double least = 0;
  double most = 1;
};

/// Step sizes of a descent.
struct DescentSteps {
  std::vector<double> factors{1.3, 1.1, 1.03, 1.01};
  int most_sweeps = 30;  // with one factor
};

/// Minimizes `error()` by scaling one parameter at a time, with smaller factors once no change
/// helps (pattern search; Hooke and Jeeves 1961). Zero parameters stay zero. The result is never
/// worse than the start.
void descend(const std::vector<FreeFigure>& figures, const std::function<double()>& error,
             const DescentSteps& steps = {});

}  // namespace lockstep
