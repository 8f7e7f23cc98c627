#include <set>

#include "sim/cost/attention_time.hpp"
#include "strategies/measure/machine_fit/fit_parts.hpp"

namespace lockstep::fitting {

namespace {

[[nodiscard]] FlopRate peak_of(const DeviceModel& model, Dtype dtype) {
  const auto& own = model.peaks[static_cast<std::size_t>(dtype)];
  if (own) return *own;
  for (const auto& peak : model.peaks) {
    if (peak) return *peak;
  }
  return FlopRate{1.0};
}

[[nodiscard]] double attention_time(const DeviceModel& model, const Kernel& kernel) {
  return model.attention.launch.seconds() + attention_seconds(kernel, model.attention,
                                                              peak_of(model, kernel.math),
                                                              model.multiprocessors);
}

}  // namespace

void attention(const Measurements& kernels, MachineFit& fit) {
  AttentionFigures& figures = fit.model.attention;
  std::set<std::int64_t> sizes;
  Measurements rows;
  for (const MachineMeasurement& each : kernels) {
    if (each.kernel.of != OperationClass::attention) continue;
    const bool fused = each.kernel.kind == OperationKind::attention ||
                       each.kernel.kind == OperationKind::attention_backward;
    if (!fused) continue;
    rows.push_back(each);
    sizes.insert(each.kernel.k);
  }
  figures.head_grain = 1;
  figures.block = fit.serial ? 1 : 4;
  if (rows.empty()) return;
  double launch = fit.model.launch.seconds() + 1e-9;
  double full = 10;
  double causal = 40;
  double back_full = 10;
  double back_causal = 40;
  std::vector<double> forward(sizes.size(), 0.05);
  std::vector<double> backward(sizes.size(), 0.05);
  const auto put = [&] {
    figures.launch = duration(launch);
    figures.forward = {full, causal};
    figures.backward = {back_full, back_causal};
    figures.head_sizes.clear();
    std::size_t i = 0;
    for (const std::int64_t size : sizes) {
      figures.head_sizes.push_back({size, forward[i], backward[i]});
      ++i;
    }
  };
  const auto error = [&] {
    put();
    double sum = 0;
    for (const MachineMeasurement& each : rows) {
      sum += std::abs(std::log(attention_time(fit.model, each.kernel) / each.seconds));
    }
    return sum;
  };
  std::vector<FreeFigure> free{{&launch, 1e-9, 1e-3},
                               {&full, 0.1, 1e5},
                               {&causal, 0.1, 1e5},
                               {&back_full, 0.1, 1e5},
                               {&back_causal, 0.1, 1e5}};
  for (double& share : forward) free.push_back({&share, 0.001, 1});
  for (double& share : backward) free.push_back({&share, 0.001, 1});
  descend(free, error, from_afar());
  put();
}

}  // namespace lockstep::fitting
