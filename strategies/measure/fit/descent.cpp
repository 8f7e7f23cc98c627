#include "strategies/measure/fit/descent.hpp"

#include <algorithm>

namespace lockstep {

namespace {

/// Less is no gain: figures would be changed for nothing.
constexpr double kGain = 1e-5;

/// Whether a change of that figure helped; it is undone where not.
bool improve(const FreeFigure& figure, double factor, const std::function<double()>& error,
             double& best) {
  const double before = *figure.value;
  for (const double changed : {before * factor, before / factor}) {
    *figure.value = std::clamp(changed, figure.least, figure.most);
    const double now = error();
    if (now < best - kGain) {
      best = now;
      return true;
    }
  }
  *figure.value = before;
  return false;
}

}  // namespace

void descend(const std::vector<FreeFigure>& figures, const std::function<double()>& error,
             const DescentSteps& steps) {
  double best = error();
  for (const double factor : steps.factors) {
    bool helped = true;
    for (int sweep = 0; helped && sweep < steps.most_sweeps; ++sweep) {
      helped = false;
      for (const FreeFigure& figure : figures)
        if (improve(figure, factor, error, best)) helped = true;
    }
  }
}

}  // namespace lockstep
