#pragma once

#include <memory>

#include "sim/cost/cost_model.hpp"
#include "strategies/measure/machine/measured_machine.hpp"
#include "topologies/devices/device.hpp"

namespace lockstep {

/// Kernel times of a measured machine.
[[nodiscard]] std::unique_ptr<CostModel> cost_model(const MachineFit& fit);

/// The same, but with fused attention by a device's shipped parameters, relative to the shipped
/// peak: the CUDA backend's own attention kernels do not represent those of libraries.
[[nodiscard]] std::unique_ptr<CostModel> cost_model(const MachineFit& fit,
                                                    const DeviceModel& shipped);

/// The device with the measured memory bandwidth and reduction rate. For links see
/// machine_links.hpp.
[[nodiscard]] Device calibrated(Device device, const MachineFit& fit);

}  // namespace lockstep
