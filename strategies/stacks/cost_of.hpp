#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "sim/cost/cost_model.hpp"
#include "sim/cost/device_model.hpp"
#include "topologies/devices/device.hpp"

namespace lockstep {

struct Calibration;

/// The peak of a device by which GEMMs in a precision go.
[[nodiscard]] Precision peak_precision(Dtype dtype);

/// Combines a GPU's datasheet, the kernel parameters of its generation (configs/kernels) and those
/// of the software stack (configs/stacks; empty: default_stack() of the device in bf16). `configs`:
/// contains these folders; if empty, the parent of the device file's folder. Calibrated parameters
/// take precedence. With several `devices` that wait for each other, GEMMs take the time of the
/// slowest (KernelFigures::spread).
/// Throws ConfigError for an unknown stack, a device without kernels, an invalid file, or kernels
/// without the stack's attention.
[[nodiscard]] DeviceModel device_model(const Device& device, const std::string& stack = {},
                                       const std::filesystem::path& configs = {},
                                       const Calibration* calibration = nullptr,
                                       std::int64_t devices = 1);

/// Kernel times on a device in a training step: from shapes, with all GEMMs at the throttled clocks
/// of long ones (GemmParameters::throttling_loss); or everything at one `sustained` rate. Errors:
/// as device_model(); none with a rate.
[[nodiscard]] std::unique_ptr<CostModel> cost_model(const Device& device, const std::string& stack,
                                                    std::optional<FlopRate> sustained,
                                                    const std::filesystem::path& configs = {},
                                                    const Calibration* calibration = nullptr,
                                                    std::int64_t devices = 1);

/// The NCCL tuning of a stack (SoftwareStack::nccl), a file of configs/nccl. Throws ConfigError for
/// an unknown stack.
[[nodiscard]] std::filesystem::path nccl_tuning_of(const std::string& stack,
                                                   const std::filesystem::path& configs);

}  // namespace lockstep
