#include "strategies/stacks/cost_of.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

#include "sim/config/complaint.hpp"
#include "sim/cost/roofline.hpp"
#include "sim/cost/slowest_of_n.hpp"
#include "sim/cost/sustained.hpp"
#include "strategies/calibration/calibration.hpp"
#include "strategies/stacks/default_stack.hpp"
#include "strategies/stacks/software_stack.hpp"
#include "topologies/devices/device_kernels.hpp"

namespace lockstep {

namespace {

constexpr std::size_t at(Dtype dtype) {
  return static_cast<std::size_t>(dtype);
}

[[noreturn]] void refuse(const std::filesystem::path& file, std::string pointer,
                         std::string message) {
  throw ConfigError{Problem{file.string(), {}, std::move(pointer), std::move(message)}};
}

std::string stack_or_default(const std::string& stack, std::string_view kernels) {
  return stack.empty() ? default_stack({kernels}).id : stack;
}

std::filesystem::path file_of(const Device& device) {
  return device.configs / "devices" / (device.id + ".json");
}

/// The figures that the device names, or its own that were fitted. Errors: as device_model().
KernelFigures kernels_of(const Device& device, const std::filesystem::path& configs,
                         const Calibration* calibration) {
  if (calibration != nullptr) {
    const auto fitted = calibration->kernels.find(device.id);
    if (fitted != calibration->kernels.end()) return fitted->second;
  }
  const std::filesystem::path folder = configs / "kernels";
  if (device.kernels.empty() || !device.memory || !device.multiprocessors) {
    refuse(file_of(device), "",
           "says nothing of kernels, so computation has no times; a GPU with "
           "\"kernels\" is needed");
  }
  const std::vector<std::string> ids = kernel_figure_ids(folder);
  if (std::find(ids.begin(), ids.end(), device.kernels) == ids.end()) {
    const std::vector<std::string_view> names(ids.begin(), ids.end());
    refuse(file_of(device), "/kernels", complain_of_name("kernels", device.kernels, names));
  }
  return load_kernel_figures(folder / (device.kernels + ".json"));
}

/// The first implementation that the stack prefers and the device has.
const AttentionFigures& attention_of(const KernelFigures& kernels, const SoftwareStack& stack,
                                     const std::filesystem::path& configs) {
  for (const std::string& name : stack.attention) {
    const auto found = kernels.attention.find(name);
    if (found != kernels.attention.end()) return found->second;
  }
  std::string has;
  for (const auto& [name, figures] : kernels.attention) has += (has.empty() ? "" : ", ") + name;
  refuse(configs / "stacks" / (stack.id + ".json"), "/attention/value",
         "no implementation that " + kernels.name + " has figures of: " + has);
}

/// A precision without figures of its own goes by those of 16 bits.
std::array<std::optional<GemmParameters>, kDtypes> gemms_of(const KernelFigures& kernels) {
  auto out = kernels.gemms;
  const auto& bf16 = out[at(Dtype::bf16)];
  const auto& fp16 = out[at(Dtype::fp16)];
  const auto sixteen = bf16 ? bf16 : fp16;
  for (const Dtype dtype : {Dtype::fp64, Dtype::fp32, Dtype::bf16, Dtype::fp16, Dtype::fp8}) {
    if (!out[at(dtype)]) out[at(dtype)] = sixteen;
  }
  for (const Dtype dtype : {Dtype::fp8_block, Dtype::nvfp4}) {
    if (!out[at(dtype)]) out[at(dtype)] = out[at(Dtype::fp8)];
  }
  return out;
}

void set_peaks(DeviceModel& model, const Device& device) {
  for (const Dtype dtype : {Dtype::fp64, Dtype::fp32, Dtype::bf16, Dtype::fp16, Dtype::fp8,
                            Dtype::fp8_block, Dtype::nvfp4})
    model.peaks[at(dtype)] = device.peak(peak_precision(dtype));
}

void apply(const StackFit& fit, DeviceModel& model) {
  if (fit.host_time) model.host_time = *fit.host_time;
  if (fit.slowdown_while_communicating)
    model.slowdown_while_communicating = *fit.slowdown_while_communicating;
}

/// In a step GEMMs and attention come one after the other for seconds, so that short ones find the
/// clocks down as well.
DeviceModel under_load(DeviceModel model) {
  for (auto& figures : model.gemms) {
    if (figures) figures->throttling_half_time = {};
  }
  const double left = 1 - model.attention.throttling_loss;
  for (auto& size : model.attention.head_sizes) {
    size.forward *= left;
    size.backward *= left;
  }
  return model;
}

}  // namespace

Precision peak_precision(Dtype dtype) {
  switch (dtype) {
    case Dtype::fp64:
      return Precision::kFp64;
    case Dtype::fp32:
      return Precision::kFp32;
    case Dtype::fp16:
      return Precision::kFp16;
    case Dtype::fp8:
    case Dtype::fp8_block:
      return Precision::kFp8;
    case Dtype::nvfp4:
      return Precision::kFp4;
    default:
      return Precision::kBf16;
  }
}

DeviceModel device_model(const Device& device, const std::string& stack_id,
                         const std::filesystem::path& configs_folder,
                         const Calibration* calibration, std::int64_t devices) {
  const std::filesystem::path& configs = configs_folder.empty() ? device.configs : configs_folder;
  const SoftwareStack stack =
      find_software_stack(configs / "stacks", stack_or_default(stack_id, device.kernels));
  const KernelFigures kernels = kernels_of(device, configs, calibration);
  DeviceModel model;
  set_peaks(model, device);
  model.memory_bandwidth = device.memory->bandwidth;
  model.multiprocessors = *device.multiprocessors;
  model.gemms = gemms_of(kernels);
  model.attention = attention_of(kernels, stack, configs);
  model.launch = kernels.launch;
  model.memory_efficiency = kernels.memory_efficiency;
  model.convolution_efficiency = kernels.convolution_efficiency;
  model.slowdown_while_communicating = kernels.slowdown_while_communicating;
  if (device.peer_links) {
    model.peer_rate =
        device.peer_links->bandwidth.scaled(static_cast<double>(device.peer_links->count));
  }
  model.slowest = slowest_of(devices, kernels.spread);
  model.kinds = stack.kinds;
  model.bias = stack.bias;
  model.gradient_sum = stack.gradient_sum;
  model.host_waits_for = stack.host_waits_for;
  model.host_time = stack.host_time;
  if (calibration != nullptr) {
    const auto fitted = calibration->stacks.find(stack.id);
    if (fitted != calibration->stacks.end()) apply(fitted->second, model);
  }
  return model;
}

std::unique_ptr<CostModel> cost_model(const Device& device, const std::string& stack,
                                      std::optional<FlopRate> sustained,
                                      const std::filesystem::path& configs,
                                      const Calibration* calibration, std::int64_t devices) {
  if (sustained) return std::make_unique<SustainedRate>(*sustained);
  return std::make_unique<Roofline>(
      under_load(device_model(device, stack, configs, calibration, devices)));
}

std::filesystem::path nccl_tuning_of(const std::string& stack,
                                     const std::filesystem::path& configs) {
  const SoftwareStack found = find_software_stack(configs / "stacks", stack_or_default(stack, {}));
  return configs / "nccl" / (found.nccl + ".json");
}

}  // namespace lockstep
