#include "strategies/calibration/descent.hpp"

#include <algorithm>
#include <array>

namespace lockstep {

namespace {

constexpr std::array kFactors{1.3, 1.1, 1.03, 1.01};
constexpr int kMostSweeps = 30;  // with one factor
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

void descend(const std::vector<FreeFigure>& figures, const std::function<double()>& error) {
  double best = error();
  for (const double factor : kFactors) {
    bool helped = true;
    for (int sweep = 0; helped && sweep < kMostSweeps; ++sweep) {
      helped = false;
      for (const FreeFigure& figure : figures)
        if (improve(figure, factor, error, best)) helped = true;
    }
  }
}

}  // namespace lockstep
