#include <limits>
#include <set>

#include "sim/cost/gemm_time.hpp"
#include "sim/execute/command_graph/backend.hpp"
#include "strategies/measure/machine_fit/fit_parts.hpp"

namespace lockstep::fitting {

namespace {

[[nodiscard]] Measurements gemms_in(const Measurements& kernels, Dtype dtype) {
  Measurements out;
  for (const MachineMeasurement& each : kernels) {
    const Kernel& of = each.kernel;
    if (of.kind == OperationKind::matmul && of.math == dtype && !of.bias) {
      out.push_back(each);
    }
  }
  return out;
}

[[nodiscard]] double flops_of(const Kernel& kernel) {
  return 2 * static_cast<double>(kernel.batches) * static_cast<double>(kernel.m) *
         static_cast<double>(kernel.n) * static_cast<double>(kernel.k);
}

[[nodiscard]] double gemm_time(const DeviceModel& model, const Kernel& kernel,
                               const GemmParameters& figures, FlopRate peak) {
  const double memory = model.memory_bandwidth.bytes_per_second();
  const double computing = gemm_seconds({kernel.batches, kernel.m, kernel.n, kernel.k}, figures,
                                        peak, model.multiprocessors, memory);
  return figures.launch.seconds() + std::max(computing, kernel.moved_bytes / memory);
}

/// The best rate seen is the peak; tiles reach shares of it.
void of_precision(const Measurements& kernels, MachineFit& fit, Dtype dtype) {
  const Measurements rows = gemms_in(kernels, dtype);
  if (rows.empty()) return;
  double peak = 0;
  double quickest = 1;
  for (const MachineMeasurement& each : rows) {
    peak = std::max(peak, flops_of(each.kernel) / each.seconds);
    quickest = std::min(quickest, each.seconds);
  }
  const FlopRate rate = FlopRate{peak};
  fit.model.peaks[static_cast<std::size_t>(dtype)] = rate;
  double launch = 0;
  double start = 0;
  double large = 1;
  double small = 1;
  double thin = 1;
  GemmParameters figures;
  const bool host = fit.serial;
  const auto put = [&] {
    figures.launch = duration(launch);
    figures.tile_start = duration(start);
    figures.k_granularity = host ? 1 : 64;
    figures.alignment = host ? 1 : 8;
    figures.max_split_k = host ? 1 : 16;
    figures.min_k_per_split = 256;
    figures.split_k_traffic = 1;
    figures.throttling_half_time = duration(1e-3);
    const std::int64_t side = host ? 32 : 128;
    figures.tiles = {{side, side, large}, {side, side / 2, small}, {side / 2, side / 2, thin}};
  };
  const auto error = [&] {
    put();
    double sum = 0;
    for (const MachineMeasurement& each : rows) {
      sum += std::abs(std::log(gemm_time(fit.model, each.kernel, figures, rate) / each.seconds));
    }
    return sum;
  };
  // From several places: one figure may stand in for another for a long way.
  double best = std::numeric_limits<double>::infinity();
  GemmParameters found;
  for (const double of_launch : {0.5, 0.02}) {
    for (const double of_small : {0.9, 0.5, 0.2}) {
      launch = of_launch * quickest;
      start = quickest / 20;
      large = 1;
      small = of_small;
      thin = of_small / 2;
      descend({{&launch, 1e-9, quickest},
               {&start, 1e-10, 1e-4},
               {&large, 0.05, 1},
               {&small, 0.05, 1},
               {&thin, 0.02, 1}},
              error, from_afar());
      const double now = error();
      if (now >= best) continue;
      best = now;
      found = figures;
    }
  }
  fit.model.gemms[static_cast<std::size_t>(dtype)] = found;
}

/// What a kernel of its own takes that adds the bias, over reading and writing the result.
void biases(const Measurements& kernels, MachineFit& fit) {
  std::vector<double> traffic;
  for (const MachineMeasurement& each : kernels) {
    const Kernel& of = each.kernel;
    const auto& figures = fit.model.gemms[static_cast<std::size_t>(of.math)];
    if (of.kind != OperationKind::matmul || !of.bias || !figures) continue;
    const double alone =
        gemm_time(fit.model, of, *figures, *fit.model.peaks[static_cast<std::size_t>(of.math)]);
    const double bytes = 2 * static_cast<double>(of.batches * of.m * of.n) *
                         static_cast<double>(bytes_per_element(of.math));
    traffic.push_back((each.seconds - alone - fit.model.launch.seconds()) *
                      fit.model.memory_bandwidth.bytes_per_second() / bytes);
  }
  fit.model.bias = {traffic.empty() ? 0.0 : 1.0,
                    traffic.empty() ? 0.0 : std::max(0.0, median(traffic))};
}

}  // namespace

void gemms(const Measurements& kernels, MachineFit& fit) {
  std::set<Dtype> precisions;
  for (const MachineMeasurement& each : kernels) {
    if (each.kernel.kind == OperationKind::matmul) precisions.insert(each.kernel.math);
  }
  for (const Dtype dtype : precisions) of_precision(kernels, fit, dtype);
  biases(kernels, fit);
}

void convolutions(const Measurements& kernels, MachineFit& fit) {
  std::vector<double> shares;
  for (const MachineMeasurement& each : kernels) {
    const Kernel& of = each.kernel;
    const auto& figures = fit.model.gemms[static_cast<std::size_t>(of.math)];
    if (of.of != OperationClass::convolution || !figures) continue;
    if (!uses_matrix_units(of.kind)) continue;
    const double memory = fit.model.memory_bandwidth.bytes_per_second();
    const double computing = gemm_seconds({of.batches, of.m, of.n, of.k}, *figures,
                                          *fit.model.peaks[static_cast<std::size_t>(of.math)],
                                          fit.model.multiprocessors, memory);
    const double left = each.seconds - figures->launch.seconds();
    if (left > of.moved_bytes / memory) shares.push_back(computing / left);
  }
  if (shares.empty()) return;
  fit.model.convolution_efficiency = std::clamp(median(shares), 0.001, 1.0);
}

}  // namespace lockstep::fitting
