#pragma once

#include <string>

#include "tools/lockstep/calibrate/device_calibrate.hpp"
#include "tools/lockstep/output.hpp"

namespace lockstep::cli {

/// What was fitted and how far it is off; where asked, measured beside simulated.
[[nodiscard]] std::string render_device(const DeviceQuestion& question, const DeviceAnswer& answer,
                                        Format format);

}  // namespace lockstep::cli
