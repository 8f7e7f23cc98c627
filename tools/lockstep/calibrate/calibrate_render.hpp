#pragma once

#include <string>

#include "tools/app/calibrate/calibrate.hpp"
#include "tools/lockstep/output/output.hpp"

namespace lockstep::cli {

/// Text for stdout: fitted parameters with their rows and errors, remaining errors of fitted and
/// hold-out rows, and rows left out. JSON: rows (fitted parameters), residuals, left_out. CSV:
/// fitted parameters.
[[nodiscard]] std::string render_calibration(const CalibrateRequest& request,
                                             const CalibrateResult& result,
                                             const OutputStyle& style);

}  // namespace lockstep::cli
