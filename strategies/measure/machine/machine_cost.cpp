#include "strategies/measure/machine/machine_cost.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "sim/cost/roofline.hpp"

namespace lockstep {

namespace {

const Basis kMachine{Provenance::fitted, "the machine calibration"};

/// What was fitted to the machine's measurements.
DeviceBasis with_fitted(DeviceBasis basis, const DeviceModel& fit) {
  for (std::size_t i = 0; i < kDtypes; ++i)
    if (fit.gemms[i] && fit.peaks[i]) basis.gemms[i] = basis.peaks[i] = kMachine;
  return basis;
}

DeviceBasis whole_machine() {
  DeviceBasis out;
  out.peaks.fill(kMachine);
  out.gemms.fill(kMachine);
  out.memory.fill(kMachine);
  out.kinds.fill(kMachine);
  out.attention = out.convolution = out.launch = out.host_time = kMachine;
  return out;
}

}  // namespace

std::unique_ptr<CostModel> cost_model(const MachineFit& fit) {
  DeviceModel model = fit.model;
  model.basis = std::make_shared<const DeviceBasis>(whole_machine());
  return std::make_unique<Roofline>(std::move(model));
}

std::unique_ptr<CostModel> cost_model(const MachineFit& fit, const DeviceModel& shipped) {
  constexpr auto kPrecision = static_cast<std::size_t>(Dtype::bf16);
  DeviceModel model = shipped;
  for (std::size_t i = 0; i < kDtypes; ++i) {
    const auto& measured = fit.model.gemms[i];
    if (!measured || !fit.model.peaks[i]) continue;
    model.peaks[i] = fit.model.peaks[i];
    model.gemms[i] = measured;
    // Measured in bursts of milliseconds; in a step the clocks are down.
    model.gemms[i]->throttling_loss = shipped.gemms[i] ? shipped.gemms[i]->throttling_loss : 0;
    model.gemms[i]->throttling_half_time = {};
    model.gemms[i]->backward_rate = shipped.gemms[i] ? shipped.gemms[i]->backward_rate : 1;
    model.gemms[i]->exposed_results = shipped.gemms[i] ? shipped.gemms[i]->exposed_results : 0;
  }
  const auto& own = model.peaks[kPrecision];
  const auto& other = shipped.peaks[kPrecision];
  const double ratio = own && other ? other->per_second() / own->per_second() : 1;
  for (AttentionFigures::OfHeadSize& each : model.attention.head_sizes) {
    each.forward = std::min(1.0, each.forward * ratio);
    each.backward = std::min(1.0, each.backward * ratio);
  }
  // The measured rate is that of a copy, the best that memory reaches.
  model.memory_bandwidth = fit.model.memory_bandwidth;
  const double best =
      *std::max_element(shipped.memory_efficiency.begin(), shipped.memory_efficiency.end());
  for (Share& share : model.memory_efficiency) share /= best;
  if (shipped.basis)
    model.basis = std::make_shared<const DeviceBasis>(with_fitted(*shipped.basis, fit.model));
  return std::make_unique<Roofline>(std::move(model));
}

Device calibrated(Device device, const MachineFit& fit) {
  const MemoryCurve& adding = fit.add[static_cast<std::size_t>(NumberType::fp32)];
  if (adding.points.empty()) return device;
  const auto& [bytes, seconds] = adding.points.back();
  const double rate = static_cast<double>(bytes) / seconds;
  device.reduce_rate = Rate::bytes_per_second(static_cast<std::uint64_t>(std::llround(rate)));
  return device;
}

}  // namespace lockstep
