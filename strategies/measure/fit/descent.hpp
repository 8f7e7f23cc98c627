#pragma once

#include <functional>
#include <vector>

namespace lockstep {

/// A figure that a fit may change, within bounds.
struct FreeFigure {
  double* value = nullptr;
  double least = 0;
  double most = 1;
};

/// How far figures are changed.
struct DescentSteps {
  std::vector<double> factors{1.3, 1.1, 1.03, 1.01};
  int most_sweeps = 30;  // with one factor
};

/// Makes `error()` small by changing one figure after the other by a factor, with smaller factors
/// once none helps any more (pattern search; Hooke and Jeeves 1961). Figures that are zero stay
/// zero. The result is never worse than the start.
void descend(const std::vector<FreeFigure>& figures, const std::function<double()>& error,
             const DescentSteps& steps = {});

}  // namespace lockstep
