#include <limits>
#include <set>
#include <vector>

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

/// Rows of fused attention, and the free parameters of a fit to them.
class FittingAttention {
 public:
  FittingAttention(const Measurements& kernels, MachineFit& fit)
      : fit_{fit}, figures_{fit.model.attention} {
    std::set<std::int64_t> sizes;
    for (const MachineMeasurement& each : kernels) {
      if (row_of(each.kernel.kind).work != WorkRule::attention) continue;
      rows_.push_back(each);
      sizes.insert(each.kernel.k);
    }
    for (const std::int64_t size : sizes) figures_.head_sizes.push_back({size, 1, 1, 1});
    figures_.head_grain = 1;
    figures_.block = 1;
  }

  [[nodiscard]] bool empty() const { return rows_.empty(); }

  void run() {
    if (fit_.serial) {
      (void)of_blocks();
      return;
    }
    // Neither how many queries a team takes is told, nor how many teams share a multiprocessor: the
    // numbers that explain the times best, of each head size in turn.
    double best = std::numeric_limits<double>::infinity();
    AttentionFigures found = figures_;
    for (const std::int64_t resident : {1, 2, 3, 4, 8}) {
      figures_.resident = resident;
      for (OfHeadSize& size : figures_.head_sizes) size.block = 32;
      for (OfHeadSize& size : figures_.head_sizes) {
        std::int64_t best_block = size.block;
        double least = std::numeric_limits<double>::infinity();
        for (const std::int64_t block : {16, 32, 64, 128}) {
          size.block = block;
          const double now = of_blocks();
          if (now >= least) continue;
          least = now;
          best_block = block;
        }
        size.block = best_block;
      }
      const double now = of_blocks();
      if (now >= best) continue;
      best = now;
      found = figures_;
    }
    figures_ = found;
  }

 private:
  using OfHeadSize = AttentionFigures::OfHeadSize;

  /// The error that is left with the blocks as they are.
  double of_blocks() {
    launch_ = fit_.model.launch.seconds() + 1e-9;
    figures_.forward = figures_.backward = {10, 40};
    for (OfHeadSize& size : figures_.head_sizes) size.forward = size.backward = 0.05;
    std::vector<FreeFigure> free{{&launch_, 1e-9, 2e-5},
                                 {&figures_.forward.full, 0.1, 1e5},
                                 {&figures_.forward.causal, 0.1, 1e5},
                                 {&figures_.backward.full, 0.1, 1e5},
                                 {&figures_.backward.causal, 0.1, 1e5}};
    for (OfHeadSize& size : figures_.head_sizes) free.push_back({&size.forward, 0.001, 1});
    for (OfHeadSize& size : figures_.head_sizes) free.push_back({&size.backward, 0.001, 1});
    descend(
        free, [this] { return error(); }, from_afar());
    return error();
  }

  double error() {
    figures_.launch = duration(launch_);
    double sum = 0;
    for (const MachineMeasurement& each : rows_) {
      sum += std::abs(std::log(attention_time(fit_.model, each.kernel) / each.seconds));
    }
    return sum;
  }

  MachineFit& fit_;
  AttentionFigures& figures_;
  Measurements rows_{};
  double launch_ = 0;
};

}  // namespace

void attention(const Measurements& kernels, MachineFit& fit) {
  FittingAttention fitting{kernels, fit};
  if (!fitting.empty()) fitting.run();
}

}  // namespace lockstep::fitting
