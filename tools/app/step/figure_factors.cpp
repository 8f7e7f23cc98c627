#include "tools/app/step/figure_factors.hpp"

#include <utility>

namespace lockstep::app {

void scale(ScenarioCluster& cluster, const FigureFactors& factors) {
  if (factors.links != LinkKindFactors{})
    cluster.cluster = with_scaled_links(cluster.cluster, factors.links);
  Device& device = cluster.device;
  for (auto& peak : device.peaks)
    if (peak) peak = FlopRate{peak->per_second() * factors.peak};
  if (device.memory)
    device.memory->bandwidth = scaled_rate(device.memory->bandwidth, factors.memory_bandwidth);
  if (device.reduce_rate)
    device.reduce_rate = scaled_rate(*device.reduce_rate, factors.reduce_rate);
}

std::unique_ptr<CostModel> scaled(std::unique_ptr<CostModel> cost, const FigureFactors& factors) {
  if (factors.rates == FigureFactors::all_one() && factors.host_time == 1) return cost;
  return std::make_unique<ScaledRates>(std::move(cost), factors.rates, factors.host_time);
}

}  // namespace lockstep::app
