#pragma once

#include <algorithm>
#include <cmath>
#include <iterator>
#include <vector>

#include "strategies/measure/fit/descent.hpp"
#include "strategies/measure/machine/measured_machine.hpp"

/// For the sources of this folder that fit figures, one per kind of kernel. Each puts into the
/// model what it finds, and takes what those before it have put there: memory, GEMMs, then the
/// rest.
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

/// A kernel's figures are not known beforehand: they may be many times what a search begins with.
[[nodiscard]] inline DescentSteps from_afar() {
  return {{2, 1.4, 1.2, 1.1, 1.04, 1.02, 1.01, 1.005}, 1000};
}

/// Peaks and figures of GEMMs, by precision; what kernels that add biases cost in addition.
void gemms(const Measurements& kernels, MachineFit& fit);
/// Convolutions, as shares of the rate of the GEMMs that they amount to.
void convolutions(const Measurements& kernels, MachineFit& fit);
/// Fused attention.
void attention(const Measurements& kernels, MachineFit& fit);

/// Whether a kind of operation is fitted by one of these, not by the bytes that it moves.
[[nodiscard]] bool is_gemm(OperationKind kind);

}  // namespace lockstep::fitting
