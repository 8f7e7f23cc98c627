#pragma once

#include <string>

#include "tools/app/calibrate/device_calibrate.hpp"
#include "tools/lockstep/output/output.hpp"

namespace lockstep::cli {

/// What was fitted and how far it is off; on request, measured and simulated.
[[nodiscard]] std::string render_device(const CalibrateDeviceRequest& request,
                                        const CalibrateDeviceResult& result,
                                        const OutputStyle& style);

}  // namespace lockstep::cli
