#include "strategies/box/box_cost.hpp"

#include <cmath>

#include "sim/cost/roofline.hpp"

namespace lockstep {

std::unique_ptr<CostModel> cost_model(const BoxFit& fit) {
  return std::make_unique<Roofline>(fit.model);
}

Device calibrated(Device device, const BoxFit& fit) {
  const MemoryCurve& adding = fit.add[static_cast<std::size_t>(NumberType::fp32)];
  if (adding.points.empty()) return device;
  const auto& [bytes, seconds] = adding.points.back();
  device.reduce_rate = Rate::bytes_per_second(std::llround(static_cast<double>(bytes) / seconds));
  return device;
}

}  // namespace lockstep
