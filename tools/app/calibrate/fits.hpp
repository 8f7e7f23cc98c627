#pragma once

#include <vector>

#include "strategies/measure/validation/measured.hpp"
#include "tools/app/calibrate/calibrate.hpp"

/// One fit per kind of row. Each adds its parameters to the result and its calibration, and rows
/// that cannot be modeled to `left_out`.
namespace lockstep::app {

void fit_collectives(const std::vector<Measured>& rows, CalibrateResult& result);
void fit_devices(const std::vector<Measured>& rows, CalibrateResult& result);
/// Uses at most `runs` runs per stack, spread evenly over sizes.
void fit_steps(const std::vector<Measured>& rows, std::size_t runs, CalibrateResult& result);

/// Rows with the fitted parameters.
[[nodiscard]] std::vector<CalibrateResidual> residuals_of(const std::vector<Measured>& rows,
                                                          const CalibrateResult& result,
                                                          const std::string& part);

}  // namespace lockstep::app
