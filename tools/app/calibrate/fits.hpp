#pragma once

#include <vector>

#include "strategies/measure/validation/measured.hpp"
#include "tools/app/calibrate/calibrate.hpp"

/// The fits, one per kind of rows. Each adds what it fitted to the answer and to its calibration;
/// what cannot be modelled to `left_out`.
namespace lockstep::app {

void fit_collectives(const std::vector<Measured>& rows, CalibrateResult& answer);
void fit_devices(const std::vector<Measured>& rows, CalibrateResult& answer);
/// At most so many runs of each stack, evenly from small to large.
void fit_steps(const std::vector<Measured>& rows, std::size_t runs, CalibrateResult& answer);

/// Rows with what has been fitted.
[[nodiscard]] std::vector<CalibrateResidual> residuals_of(const std::vector<Measured>& rows,
                                                          const CalibrateResult& answer,
                                                          const std::string& part);

}  // namespace lockstep::app
