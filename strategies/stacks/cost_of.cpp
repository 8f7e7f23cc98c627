#include "strategies/stacks/cost_of.hpp"

#include <algorithm>
#include <memory>
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
           "says nothing of kernels, so computation has no times; give the scenario a rate of all "
           "computation, such as --set 'sustained=200 TFLOP/s', or a GPU with \"kernels\"");
  }
  const std::vector<std::string> ids = kernel_figure_ids(folder);
  if (std::find(ids.begin(), ids.end(), device.kernels) == ids.end()) {
    const std::vector<std::string_view> names(ids.begin(), ids.end());
    refuse(file_of(device), "/kernels", complain_of_name("kernels", device.kernels, names));
  }
  return load_kernel_figures(folder / (device.kernels + ".json"));
}

/// The first implementation that the stack prefers and the device has.
const std::pair<const std::string, AttentionFigures>& attention_of(
    const KernelFigures& kernels, const SoftwareStack& stack, const std::filesystem::path& file) {
  for (const std::string& name : stack.attention) {
    const auto found = kernels.attention.find(name);
    if (found != kernels.attention.end()) return *found;
  }
  std::string has;
  for (const auto& [name, figures] : kernels.attention) has += (has.empty() ? "" : ", ") + name;
  refuse(file, "/attention/value",
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

void apply(const StackFit& fit, DeviceModel& model, DeviceBasis& basis) {
  if (fit.host_time) {
    model.host_time = *fit.host_time;
    basis.host_time = {fit.provenance, "host_time of the calibration"};
  }
  if (fit.slowdown_while_communicating)
    model.slowdown_while_communicating = *fit.slowdown_while_communicating;
}

/// In a step GEMMs and attention come one after the other for seconds, so that short ones find the
/// clocks down as well.
DeviceModel under_load(DeviceModel model) {
  for (auto& figures : model.gemms) {
    if (figures) figures->throttling_half_time = {};
  }
  const double loss = model.attention.throttling_loss;
  for (auto& size : model.attention.head_sizes) {
    size.forward *= 1 - loss;
    size.backward *= 1 - std::max(loss, model.attention.backward_loss);
  }
  return model;
}

/// The parameters of a file.
class BasisFinder {
 public:
  BasisFinder(const std::vector<FigureSource>& sources, std::string file)
      : sources_{sources}, file_{std::move(file)} {}

  /// None if the file does not have the parameter.
  [[nodiscard]] std::optional<Basis> find(const std::string& pointer) const {
    const FigureSource* source = find_source(sources_, pointer);
    if (source == nullptr) return std::nullopt;
    std::string name = pointer.substr(1);
    std::replace(name.begin(), name.end(), '/', '.');
    return Basis{source->provenance.value_or(Provenance::assumed),
                 name + " of " + file_ + (source->provenance ? "" : " (no provenance)")};
  }
  [[nodiscard]] Basis of(const std::string& pointer) const {
    return find(pointer).value_or(kModel);
  }

  /// What no file gives is part of the model, for example that a kernel moves each tensor once.
  static const inline Basis kModel{Provenance::source_code, "defaults"};

 private:
  const std::vector<FigureSource>& sources_;
  std::string file_;
};

std::string pointer_to(std::string_view parent, std::string_view key) {
  return std::string{parent}.append("/").append(key);
}

/// A precision that goes by those of 16 bits is less sure of its efficiency.
void set_gemms(DeviceBasis& out, const BasisFinder& finder) {
  const auto tiles = [&](Dtype dtype) {
    return finder.find(pointer_to("/products", to_string(dtype)) + "/tiles");
  };
  const auto sixteen = tiles(Dtype::bf16) ? tiles(Dtype::bf16) : tiles(Dtype::fp16);
  for (const Dtype dtype : {Dtype::fp64, Dtype::fp32, Dtype::bf16, Dtype::fp16, Dtype::fp8}) {
    Basis& gemm = out.gemms[at(dtype)];
    gemm = tiles(dtype).value_or(sixteen.value_or(BasisFinder::kModel));
    const bool half = dtype == Dtype::bf16 || dtype == Dtype::fp16;
    if (!half && !tiles(dtype)) gemm.provenance = Provenance::assumed;
  }
  for (const Dtype dtype : {Dtype::fp8_block, Dtype::nvfp4}) {
    out.gemms[at(dtype)] = tiles(dtype).value_or(out.gemms[at(Dtype::fp8)]);
    if (!tiles(dtype)) out.gemms[at(dtype)].provenance = Provenance::assumed;
  }
}

void set_memory(DeviceBasis& out, const BasisFinder& kernels, const Basis& bandwidth) {
  for (std::size_t i = 0; i < kOperationClasses; ++i) {
    const auto own =
        kernels.find(pointer_to("/memory_efficiency", to_string(static_cast<OperationClass>(i))));
    out.memory[i] = basis_of_rate(bandwidth, own ? *own : kernels.of("/memory_efficiency/all"));
  }
}

DeviceBasis basis_of(const Device& device, const KernelFigures& kernels, const SoftwareStack& stack,
                     const std::string& attention, bool fitted) {
  const BasisFinder of_device{device.sources, "devices/" + device.id};
  const BasisFinder of_kernels{kernels.sources,
                               fitted ? "the calibration" : "kernels/" + kernels.id};
  const BasisFinder of_stack{stack.sources, "stacks/" + stack.id};
  DeviceBasis out;
  for (const Dtype dtype : {Dtype::fp64, Dtype::fp32, Dtype::bf16, Dtype::fp16, Dtype::fp8,
                            Dtype::fp8_block, Dtype::nvfp4}) {
    const auto peak = static_cast<std::size_t>(peak_precision(dtype));
    out.peaks[at(dtype)] = of_device.of(pointer_to("/peak", kPrecisionNames.at(peak)));
  }
  set_gemms(out, of_kernels);
  out.attention = of_kernels.of(pointer_to("/attention", attention) + "/head_sizes");
  out.convolution = of_kernels.of("/convolution_efficiency");
  out.launch = of_kernels.of("/launch");
  set_memory(out, of_kernels, of_device.of("/memory/bandwidth"));
  for (std::size_t i = 0; i < kOperationKinds; ++i)
    out.kinds[i] = of_stack.of(pointer_to("/kinds", to_string(static_cast<OperationKind>(i))));
  out.host_time = of_stack.of("/host_time");
  return out;
}

/// Rates of multiprocessors are stated for those of one speed.
KindFigures at_speed(KindFigures figures, double speed) {
  if (figures.multiprocessor_rate)
    figures.multiprocessor_rate = figures.multiprocessor_rate->scaled(speed);
  return figures;
}

void set_kinds(DeviceModel& model, const SoftwareStack& stack, double speed) {
  for (std::size_t i = 0; i < kOperationKinds; ++i)
    model.kinds[i] = at_speed(stack.kinds[i], speed);
  model.bias = at_speed(stack.bias, speed);
  if (stack.joined_bias) model.joined_bias = at_speed(*stack.joined_bias, speed);
  if (stack.joined_dropout) model.joined_dropout = at_speed(*stack.joined_dropout, speed);
  model.gradient_sum = at_speed(stack.gradient_sum, speed);
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
  const std::string name = stack_or_default(stack_id, device.kernels);
  const SoftwareStack stack = find_software_stack(configs / "stacks", name);
  const KernelFigures kernels = kernels_of(device, configs, calibration);
  DeviceModel model;
  set_peaks(model, device);
  model.memory_bandwidth = device.memory->bandwidth;
  model.multiprocessors = *device.multiprocessors;
  model.gemms = gemms_of(kernels);
  const auto& [attention, figures] =
      attention_of(kernels, stack, software_stack_file(configs / "stacks", name));
  model.attention = figures;
  model.launch = kernels.launch;
  model.memory_efficiency = kernels.memory_efficiency;
  model.convolution_efficiency = kernels.convolution_efficiency;
  model.slowdown_while_communicating = kernels.slowdown_while_communicating;
  if (device.peer_links) {
    model.peer_rate =
        device.peer_links->bandwidth.scaled(static_cast<double>(device.peer_links->count));
  }
  model.slowest = slowest_of(devices, kernels.spread);
  set_kinds(model, stack, kernels.multiprocessor_speed);
  model.host_waits_for = stack.host_waits_for;
  model.host_time = stack.host_time;
  const bool calibrated = calibration != nullptr && calibration->kernels.count(device.id) > 0;
  DeviceBasis basis = basis_of(device, kernels, stack, attention, calibrated);
  if (calibration != nullptr) {
    const auto fitted = calibration->stacks.find(stack.id);
    if (fitted != calibration->stacks.end()) apply(fitted->second, model, basis);
  }
  model.basis = std::make_shared<const DeviceBasis>(std::move(basis));
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
