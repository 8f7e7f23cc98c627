#pragma once

#include <vector>

#include "strategies/measure/machine/measured_machine.hpp"

namespace lockstep {

/// The cost model's figures from what was measured: mean |log(simulated / measured)| is made small,
/// of GEMMs per precision, of attention per direction; of everything else the bytes that its
/// kernels move, over the least, per kind of operation. `multiprocessors`: of the device; 1 of a
/// host.
[[nodiscard]] MachineFit fit_machine(const std::vector<MachineMeasurement>& measurements,
                                     bool is_host, std::int64_t multiprocessors);

/// How far the fit is from the kernels that it was fitted to, by operation and precision.
[[nodiscard]] std::vector<MachineResidual> residuals_of(
    const std::vector<MachineMeasurement>& measurements, const MachineFit& fit);

}  // namespace lockstep
