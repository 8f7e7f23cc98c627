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

/// A GPU's datasheet, the figures of its generation's kernels (configs/kernels) and those of the
/// software (configs/stacks; empty: default_stack() of the device in bf16) as one. The folders are
/// looked for in `configs`, or, where that is empty, above the folder of the device's own file.
/// Throws ConfigError where there is no such stack, where the device names no kernels or a file of
/// theirs is wrong, or has no attention as the stack uses it.
/// What a calibration says of the device or the stack goes first. Of several `devices` that wait
/// for each other GEMMs take what they do on the slowest (KernelFigures::spread).
[[nodiscard]] DeviceModel device_model(const Device& device, const std::string& stack = {},
                                       const std::filesystem::path& configs = {},
                                       const Calibration* calibration = nullptr,
                                       std::int64_t devices = 1);

/// How long kernels take on a device in a training step: from their shapes, GEMMs at the clocks
/// that long GEMMs leave (GemmParameters::throttling_loss), whatever their own length; or
/// everything at one `sustained` rate.
/// Errors as device_model(); none where a rate is given.
[[nodiscard]] std::unique_ptr<CostModel> cost_model(const Device& device, const std::string& stack,
                                                    std::optional<FlopRate> sustained,
                                                    const std::filesystem::path& configs = {},
                                                    const Calibration* calibration = nullptr,
                                                    std::int64_t devices = 1);

/// The tuning of the NCCL that a stack comes with (SoftwareStack::nccl), as a file of
/// configs/nccl. Throws ConfigError where there is no such stack.
[[nodiscard]] std::filesystem::path nccl_tuning_of(const std::string& stack,
                                                   const std::filesystem::path& configs);

}  // namespace lockstep
