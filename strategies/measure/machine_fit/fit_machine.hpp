#pragma once

#include <vector>

#include "strategies/calibration/measured_machine.hpp"

namespace lockstep {

/// Fits the cost model to measurements: minimizes mean |log(simulated / measured)| of GEMMs per
/// precision and of attention per direction; for all other kinds of operation, fits the ratio of
/// moved to minimum bytes. `multiprocessors`: of the device; 1 for a host.
[[nodiscard]] MachineFit fit_machine(const std::vector<MachineMeasurement>& measurements,
                                     bool is_host, std::int64_t multiprocessors);

/// Residuals by operation and precision.
[[nodiscard]] std::vector<MachineResidual> residuals_of(
    const std::vector<MachineMeasurement>& measurements, const MachineFit& fit);

}  // namespace lockstep
