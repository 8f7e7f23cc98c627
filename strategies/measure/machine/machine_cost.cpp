#include "strategies/measure/machine/machine_cost.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "sim/cost/roofline.hpp"

namespace lockstep {

std::unique_ptr<CostModel> cost_model(const MachineFit& fit) {
  return std::make_unique<Roofline>(fit.model);
}

std::unique_ptr<CostModel> cost_model(const MachineFit& fit, const DeviceModel& shipped) {
  constexpr auto kPrecision = static_cast<std::size_t>(Dtype::bf16);
  DeviceModel model = fit.model;
  const auto& own = model.peaks[kPrecision];
  const auto& other = shipped.peaks[kPrecision];
  model.attention = shipped.attention;
  const double ratio = own && other ? other->per_second() / own->per_second() : 1;
  for (AttentionFigures::OfHeadSize& each : model.attention.head_sizes) {
    each.forward = std::min(1.0, each.forward * ratio);
    each.backward = std::min(1.0, each.backward * ratio);
  }
  return std::make_unique<Roofline>(std::move(model));
}

Device calibrated(Device device, const MachineFit& fit) {
  const MemoryCurve& adding = fit.add[static_cast<std::size_t>(NumberType::fp32)];
  if (adding.points.empty()) return device;
  const auto& [bytes, seconds] = adding.points.back();
  device.reduce_rate = Rate::bytes_per_second(std::llround(static_cast<double>(bytes) / seconds));
  return device;
}

}  // namespace lockstep
