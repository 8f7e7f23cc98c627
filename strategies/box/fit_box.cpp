#include "strategies/box/fit_box.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "sim/check.hpp"
#include "sim/cost/attention_time.hpp"
#include "sim/cost/product_time.hpp"
#include "sim/cost/roofline.hpp"
#include "sim/execute/cuda/plan/backend.hpp"
#include "strategies/box/fit_links.hpp"

namespace lockstep {

namespace {

using Kind = BoxMeasurement::Kind;
using Measurements = std::vector<BoxMeasurement>;

constexpr double kLeastTraffic = 1e-3;

/// A figure that a fit may change, within bounds.
struct Free {
  double* value = nullptr;
  double least = 0;
  double most = 1;
};

/// Makes `error()` small by changing one figure after the other by a factor, ever finer (pattern
/// search; Hooke and Jeeves 1961).
void descend(const std::vector<Free>& figures, const std::function<double()>& error) {
  double best = error();
  for (double factor = 2; factor > 1.005; factor = std::sqrt(factor)) {
    for (bool better = true; better;) {
      better = false;
      for (const Free& figure : figures) {
        for (const double by : {factor, 1 / factor}) {
          const double before = *figure.value;
          *figure.value = std::clamp(before * by, figure.least, figure.most);
          const double now = error();
          if (now < best * (1 - 1e-6)) {
            best = now;
            better = true;
          } else {
            *figure.value = before;
          }
        }
      }
    }
  }
}

[[nodiscard]] Duration seconds(double value) {
  return Duration::picoseconds(std::llround(std::max(0.0, value) * 1e12));
}

[[nodiscard]] double middle(std::vector<double> values) {
  return median(std::move(values));
}

[[nodiscard]] Measurements of_kind(const Measurements& all, Kind kind) {
  Measurements out;
  std::copy_if(all.begin(), all.end(), std::back_inserter(out),
               [kind](const BoxMeasurement& each) { return each.kind == kind; });
  return out;
}

[[nodiscard]] double first_seconds(const Measurements& all, Kind kind) {
  const Measurements of = of_kind(all, kind);
  return of.empty() ? 0 : of.front().seconds;
}

[[nodiscard]] MemoryCurve curve_of(const Measurements& all, Kind kind, std::string_view type) {
  MemoryCurve out;
  for (const BoxMeasurement& each : of_kind(all, kind)) {
    if (each.what == type) out.points.emplace_back(each.bytes, each.seconds);
  }
  std::sort(out.points.begin(), out.points.end());
  return out;
}

class Fitting {
 public:
  Fitting(const Measurements& all, bool is_host, std::int64_t multiprocessors)
      : all_{all}, kernels_{of_kind(all, Kind::kernel)} {
    fit_.serial = is_host;
    fit_.model.multiprocessors = multiprocessors;
  }

  BoxFit run() {
    memory();
    fit_.links = fit_links(all_);
    fit_.model.memory_efficiency.fill(1);
    fit_.model.kinds.fill({1, 1});
    std::set<Dtype> precisions;
    for (const BoxMeasurement& each : kernels_) {
      if (each.kernel.kind == OperationKind::matmul) precisions.insert(each.kernel.math);
    }
    for (const Dtype dtype : precisions) products(dtype);
    attention();
    biases();
    convolutions();
    others();
    for (const BoxMeasurement& each : of_kind(all_, Kind::beside)) {
      fit_.model.slowdown_while_communicating = std::max(1.0, each.ratio);
    }
    return std::move(fit_);
  }

 private:
  /// A byte copied is read and written once.
  void memory() {
    fit_.copy = curve_of(all_, Kind::copy, "fp32");
    for (const NumberType type :
         {NumberType::fp64, NumberType::fp32, NumberType::bf16, NumberType::fp16}) {
      fit_.add[static_cast<std::size_t>(type)] = curve_of(all_, Kind::add, to_string(type));
    }
    LOCKSTEP_CHECK(!fit_.copy.points.empty());
    const auto& [bytes, time] = fit_.copy.points.back();
    fit_.model.memory_bandwidth =
        Rate::bytes_per_second(std::llround(2 * static_cast<double>(bytes) / time));
    fit_.empty_copy = seconds(first_seconds(all_, Kind::empty_copy));
    fit_.model.launch = seconds(first_seconds(all_, Kind::graph_node));
    // A host that computes itself issues nothing.
    if (!fit_.serial) fit_.model.host_time = seconds(first_seconds(all_, Kind::launch));
  }

  [[nodiscard]] Measurements products_in(Dtype dtype, bool biased) const {
    Measurements out;
    for (const BoxMeasurement& each : kernels_) {
      const Kernel& of = each.kernel;
      if (of.kind == OperationKind::matmul && of.math == dtype && of.bias == biased) {
        out.push_back(each);
      }
    }
    return out;
  }

  [[nodiscard]] static double flops_of(const Kernel& kernel) {
    return 2 * static_cast<double>(kernel.batches) * static_cast<double>(kernel.m) *
           static_cast<double>(kernel.n) * static_cast<double>(kernel.k);
  }

  /// The best rate seen is the peak; tiles reach shares of it.
  void products(Dtype dtype) {
    const Measurements rows = products_in(dtype, false);
    if (rows.empty()) return;
    double peak = 0;
    double quickest = 1;
    for (const BoxMeasurement& each : rows) {
      peak = std::max(peak, flops_of(each.kernel) / each.seconds);
      quickest = std::min(quickest, each.seconds);
    }
    const FlopRate rate = FlopRate{peak};
    fit_.model.peaks[static_cast<std::size_t>(dtype)] = rate;
    double launch = quickest / 2;
    double start = quickest / 4;
    double large = 1;
    double small = 0.6;
    double thin = 0.3;
    ProductFigures figures;
    const bool host = fit_.serial;
    const auto put = [&] {
      figures.launch = seconds(launch);
      figures.tile_start = seconds(start);
      figures.depth_grain = host ? 1 : 64;
      figures.alignment = host ? 1 : 8;
      figures.most_parts = host ? 1 : 16;
      figures.shortest_part = 256;
      figures.part_traffic = 1;
      figures.half_loss = seconds(1e-3);
      const std::int64_t side = host ? 32 : 128;
      figures.tiles = {{side, side, large}, {side, side / 2, small}, {side / 2, side / 2, thin}};
    };
    const auto error = [&] {
      put();
      double sum = 0;
      for (const BoxMeasurement& each : rows) {
        sum += std::abs(std::log(product_time(each.kernel, figures, rate) / each.seconds));
      }
      return sum;
    };
    descend({{&launch, 1e-9, quickest},
             {&start, 1e-10, 1e-4},
             {&large, 0.05, 1},
             {&small, 0.05, 1},
             {&thin, 0.02, 1}},
            error);
    put();
    fit_.model.products[static_cast<std::size_t>(dtype)] = figures;
  }

  [[nodiscard]] double product_time(const Kernel& kernel, const ProductFigures& figures,
                                    FlopRate peak) const {
    const double memory = fit_.model.memory_bandwidth.bytes_per_second();
    const double computing = product_seconds({kernel.batches, kernel.m, kernel.n, kernel.k},
                                             figures, peak, fit_.model.multiprocessors, memory);
    return figures.launch.seconds() + std::max(computing, kernel.moved_bytes / memory);
  }

  /// What a kernel of its own takes that adds the bias, over reading and writing the result.
  void biases() {
    std::vector<double> traffic;
    for (const BoxMeasurement& each : kernels_) {
      const Kernel& of = each.kernel;
      const auto& figures = fit_.model.products[static_cast<std::size_t>(of.math)];
      if (of.kind != OperationKind::matmul || !of.bias || !figures) continue;
      const double alone =
          product_time(of, *figures, *fit_.model.peaks[static_cast<std::size_t>(of.math)]);
      const double bytes = 2 * static_cast<double>(of.batches * of.m * of.n) *
                           static_cast<double>(bytes_per_element(of.math));
      traffic.push_back((each.seconds - alone - fit_.model.launch.seconds()) *
                        fit_.model.memory_bandwidth.bytes_per_second() / bytes);
    }
    fit_.model.bias = {traffic.empty() ? 0.0 : 1.0,
                       traffic.empty() ? 0.0 : std::max(0.0, middle(traffic))};
  }

  void attention() {
    AttentionFigures& figures = fit_.model.attention;
    std::set<std::int64_t> sizes;
    Measurements rows;
    for (const BoxMeasurement& each : kernels_) {
      if (each.kernel.of != OperationClass::attention) continue;
      const bool fused = each.kernel.kind == OperationKind::attention ||
                         each.kernel.kind == OperationKind::attention_backward;
      if (!fused) continue;
      rows.push_back(each);
      sizes.insert(each.kernel.k);
    }
    figures.head_grain = 1;
    figures.block = fit_.serial ? 1 : 4;
    if (rows.empty()) return;
    double launch = fit_.model.launch.seconds() + 1e-9;
    double full = 10;
    double causal = 40;
    double back_full = 10;
    double back_causal = 40;
    std::vector<double> forward(sizes.size(), 0.05);
    std::vector<double> backward(sizes.size(), 0.05);
    const auto put = [&] {
      figures.launch = seconds(launch);
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
      for (const BoxMeasurement& each : rows) {
        sum += std::abs(std::log(attention_time(each.kernel) / each.seconds));
      }
      return sum;
    };
    std::vector<Free> free{{&launch, 1e-9, 1e-3},
                           {&full, 0.1, 1e5},
                           {&causal, 0.1, 1e5},
                           {&back_full, 0.1, 1e5},
                           {&back_causal, 0.1, 1e5}};
    for (double& share : forward) free.push_back({&share, 0.001, 1});
    for (double& share : backward) free.push_back({&share, 0.001, 1});
    descend(free, error);
    put();
  }
  [[nodiscard]] double attention_time(const Kernel& kernel) const {
    return fit_.model.attention.launch.seconds() + attention_seconds(kernel, fit_.model.attention,
                                                                     peak_of(kernel.math),
                                                                     fit_.model.multiprocessors);
  }
  [[nodiscard]] FlopRate peak_of(Dtype dtype) const {
    const auto& own = fit_.model.peaks[static_cast<std::size_t>(dtype)];
    if (own) return *own;
    for (const auto& peak : fit_.model.peaks) {
      if (peak) return *peak;
    }
    return FlopRate{1.0};
  }

  /// Of the rate of the product that a convolution amounts to.
  void convolutions() {
    std::vector<double> shares;
    for (const BoxMeasurement& each : kernels_) {
      const Kernel& of = each.kernel;
      const auto& figures = fit_.model.products[static_cast<std::size_t>(of.math)];
      if (of.of != OperationClass::convolution || !figures) continue;
      if (!is_product(of.kind)) continue;
      const double memory = fit_.model.memory_bandwidth.bytes_per_second();
      const double computing = product_seconds({of.batches, of.m, of.n, of.k}, *figures,
                                               *fit_.model.peaks[static_cast<std::size_t>(of.math)],
                                               fit_.model.multiprocessors, memory);
      const double left = each.seconds - figures->launch.seconds();
      if (left > of.moved_bytes / memory) shares.push_back(computing / left);
    }
    if (shares.empty()) return;
    fit_.model.convolution_efficiency = std::clamp(middle(shares), 0.001, 1.0);
  }

  /// What is not done by moving operands alone.
  [[nodiscard]] static bool is_product(OperationKind kind) {
    switch (kind) {
      case OperationKind::matmul:
      case OperationKind::attention:
      case OperationKind::attention_backward:
      case OperationKind::attention_scores:
      case OperationKind::attention_scores_backward:
      case OperationKind::attention_context:
      case OperationKind::attention_context_backward:
      case OperationKind::convolution:
      case OperationKind::convolution_input_grad:
      case OperationKind::convolution_weight_grad:
        return true;
      default:
        return false;
    }
  }

  /// Kernels that move their operands: launches, and bytes over the least.
  void others() {
    std::map<OperationKind, std::vector<double>> traffic;
    std::map<OperationKind, std::vector<double>> kernels;
    for (const BoxMeasurement& each : kernels_) {
      const Kernel& of = each.kernel;
      if (is_product(of.kind) || of.moved_bytes <= 0) continue;
      const double left = each.seconds - each.kernels * fit_.model.launch.seconds();
      traffic[of.kind].push_back(std::max(
          kLeastTraffic, left * fit_.model.memory_bandwidth.bytes_per_second() / of.moved_bytes));
      kernels[of.kind].push_back(each.kernels);
    }
    for (auto& [kind, values] : traffic) {
      fit_.model.kinds[static_cast<std::size_t>(kind)] = {middle(kernels[kind]), middle(values)};
    }
  }

  const Measurements& all_;
  Measurements kernels_;
  BoxFit fit_{};
};

/// Of copies between GPUs, the sizes that their figures do not come from too.
void add_links(const Measurements& measurements, const BoxLinks& links,
               std::map<std::string, std::vector<double>>& errors) {
  for (const BoxMeasurement& each : measurements) {
    if (each.kind != Kind::peer || each.what != "copy") continue;
    for (const BoxLink& link : links.pairs) {
      if (link.from != each.from || link.to != each.to) continue;
      errors["copies between GPUs"].push_back(seconds_of(link, each.bytes) / each.seconds - 1);
    }
  }
}

}  // namespace

double MemoryCurve::seconds(std::int64_t bytes) const {
  if (points.empty() || bytes == 0) return 0;
  const auto above = std::lower_bound(points.begin(), points.end(), bytes,
                                      [](const std::pair<std::int64_t, double>& point,
                                         std::int64_t size) { return point.first < size; });
  if (above == points.begin()) return points.front().second;
  if (above == points.end()) {
    return points.back().second * static_cast<double>(bytes) /
           static_cast<double>(points.back().first);
  }
  const auto& below = *(above - 1);
  const double share =
      std::log(static_cast<double>(bytes) / static_cast<double>(below.first)) /
      std::log(static_cast<double>(above->first) / static_cast<double>(below.first));
  return below.second * std::pow(above->second / below.second, share);
}

BoxFit fit_box(const std::vector<BoxMeasurement>& measurements, bool is_host,
               std::int64_t multiprocessors) {
  return Fitting{measurements, is_host, multiprocessors}.run();
}

std::vector<BoxResidual> residuals_of(const std::vector<BoxMeasurement>& measurements,
                                      const BoxFit& fit) {
  const Roofline cost{fit.model};
  std::map<std::string, std::vector<double>> errors;
  for (const BoxMeasurement& each : measurements) {
    if (each.kind != Kind::kernel) continue;
    const std::string of = each.what + " " + std::string{to_string(each.kernel.math)};
    errors[of].push_back(cost.time(each.kernel).seconds() / each.seconds - 1);
  }
  add_links(measurements, fit.links, errors);
  std::vector<BoxResidual> out;
  for (const auto& [of, values] : errors) {
    std::vector<double> sizes;
    double sum = 0;
    for (const double value : values) {
      sizes.push_back(std::abs(value));
      sum += value;
    }
    std::sort(sizes.begin(), sizes.end());
    const auto rows = static_cast<std::int64_t>(values.size());
    const auto ninth = static_cast<std::size_t>(std::ceil(0.9 * static_cast<double>(rows))) - 1;
    out.push_back({of, rows, median(sizes), sizes[ninth], sum / static_cast<double>(rows)});
  }
  return out;
}

}  // namespace lockstep
