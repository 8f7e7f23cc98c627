#pragma once

#include <string>

#include "tools/app/calibrate/device_calibrate.hpp"
#include "tools/lockstep/output/output.hpp"

namespace lockstep::cli {

/// Fitted parameters and remaining errors; on request measured and simulated times.
[[nodiscard]] std::string render_device(const CalibrateDeviceRequest& request,
                                        const CalibrateDeviceResult& result,
                                        const OutputStyle& style);

}  // namespace lockstep::cli
