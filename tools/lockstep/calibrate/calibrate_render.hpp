#pragma once

#include <string>

#include "tools/app/calibrate/calibrate.hpp"
#include "tools/lockstep/output/output.hpp"

namespace lockstep::cli {

/// For stdout: what was fitted, on how many rows and with what error; what is left in the rows that
/// were fitted to and in those to check with; what was left out. JSON: rows (what was fitted),
/// residuals, left_out. CSV: what was fitted.
[[nodiscard]] std::string render_calibration(const CalibrateRequest& request,
                                             const CalibrateResult& result,
                                             const OutputStyle& style);

}  // namespace lockstep::cli
