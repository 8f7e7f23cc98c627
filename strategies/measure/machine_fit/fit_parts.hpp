#pragma once

#include <algorithm>
#include <cmath>
#include <iterator>
#include <vector>

#include "strategies/calibration/measured_machine.hpp"
#include "strategies/measure/fit/descent.hpp"

/// Internal to this folder: one fit per kind of kernel. Each adds its parameters to the model and
/// relies on earlier ones: memory, GEMMs, then the rest.
namespace lockstep::fitting {

using Measurements = std::vector<MachineMeasurement>;

[[nodiscard]] inline Duration duration(double seconds) {
  return Duration::picoseconds(std::llround(std::max(0.0, seconds) * 1e12));
}

[[nodiscard]] inline Measurements of_kind(const Measurements& all, MachineMeasurement::Kind kind) {
  Measurements out;
  std::copy_if(all.begin(), all.end(), std::back_inserter(out),
               [kind](const MachineMeasurement& each) { return each.kind == kind; });
  return out;
}

/// Wide steps: fitted parameters may differ from the initial ones by orders of magnitude.
[[nodiscard]] inline DescentSteps from_afar() {
  return {{2, 1.4, 1.2, 1.1, 1.04, 1.02, 1.01, 1.005}, 1000};
}

/// Peak rates and parameters of GEMMs by precision; the cost of bias kernels.
void gemms(const Measurements& kernels, MachineFit& fit);
/// Convolutions, as fractions of the rate of the equivalent GEMMs.
void convolutions(const Measurements& kernels, MachineFit& fit);
/// Fused attention.
void attention(const Measurements& kernels, MachineFit& fit);

}  // namespace lockstep::fitting
