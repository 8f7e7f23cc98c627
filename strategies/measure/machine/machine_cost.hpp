#pragma once

#include <memory>

#include "sim/cost/cost_model.hpp"
#include "strategies/measure/machine/measured_machine.hpp"
#include "topologies/devices/device.hpp"

namespace lockstep {

/// How long kernels take on the machine.
[[nodiscard]] std::unique_ptr<CostModel> cost_model(const MachineFit& fit);

/// The same with fused attention as libraries have it, by a device's shipped figures: the CUDA
/// backend's own kernels are no measure of them. Its shares are of the shipped peak.
[[nodiscard]] std::unique_ptr<CostModel> cost_model(const MachineFit& fit,
                                                    const DeviceModel& shipped);

/// A device with what was measured of its memory: how fast it reduces. Links: box_links.hpp.
[[nodiscard]] Device calibrated(Device device, const MachineFit& fit);

}  // namespace lockstep
