#pragma once

#include <memory>

#include "sim/cost/cost_model.hpp"
#include "sim/cost/scaled_rates.hpp"
#include "strategies/scenario/scenario.hpp"
#include "topologies/graph/scaled_links.hpp"

namespace lockstep::app {

/// Factors, all above 0, on figures of the hardware and on rates of kernels: what if they were
/// different. Of a cluster before its links are changed one by one.
struct FigureFactors {
  LinkKindFactors links{};
  double peak = 1;              // of every precision
  double memory_bandwidth = 1;  // of the GPU
  double reduce_rate = 1;       // bytes reduced per second by collectives
  double host_time = 1;         // of a kernel launch
  KernelRateFactors rates = all_one();

  [[nodiscard]] static KernelRateFactors all_one() {
    KernelRateFactors out{};
    out.fill(1);
    return out;
  }
  friend bool operator==(const FigureFactors&, const FigureFactors&) = default;
};

/// Links and figures of the GPU.
void scale(ScenarioCluster& cluster, const FigureFactors& factors);

/// Rates of kernels and the time of a launch.
[[nodiscard]] std::unique_ptr<CostModel> scaled(std::unique_ptr<CostModel> cost,
                                                const FigureFactors& factors);

}  // namespace lockstep::app
