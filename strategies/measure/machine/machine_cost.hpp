#pragma once

#include <memory>

#include "sim/cost/cost_model.hpp"
#include "strategies/calibration/measured_machine.hpp"
#include "topologies/devices/device.hpp"

namespace lockstep {

/// Kernel times of a measured machine.
[[nodiscard]] std::unique_ptr<CostModel> cost_model(const MachineFit& fit);

/// A GPU's shipped model with the measured GEMMs, peaks and memory bandwidth. The other kernels and
/// the host stay those of the software stack: the CUDA backend's own kernels do not represent those
/// of libraries, nor its copies the kernels of NCCL. Loss of clocks under load is the shipped one,
/// which measurements of milliseconds do not see.
[[nodiscard]] std::unique_ptr<CostModel> cost_model(const MachineFit& fit,
                                                    const DeviceModel& shipped);

/// The device with the measured memory bandwidth and reduction rate. For links see
/// machine_links.hpp.
[[nodiscard]] Device calibrated(Device device, const MachineFit& fit);

}  // namespace lockstep
