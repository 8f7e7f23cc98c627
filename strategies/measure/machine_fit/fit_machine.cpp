#include "strategies/measure/machine_fit/fit_machine.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "sim/base/check.hpp"
#include "sim/execute/command_graph/backend.hpp"
#include "strategies/measure/machine_fit/fit_links.hpp"
#include "strategies/measure/machine_fit/fit_parts.hpp"

namespace lockstep {

namespace {

using Kind = MachineMeasurement::Kind;
using fitting::duration;
using fitting::Measurements;
using fitting::of_kind;

constexpr double kLeastTraffic = 1e-3;
constexpr double kMostTraffic = 1e6;

[[nodiscard]] double first_seconds(const Measurements& all, Kind kind) {
  const Measurements of = of_kind(all, kind);
  return of.empty() ? 0 : of.front().seconds;
}

[[nodiscard]] MemoryCurve curve_of(const Measurements& all, Kind kind, std::string_view type) {
  MemoryCurve out;
  for (const MachineMeasurement& each : of_kind(all, kind)) {
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

  MachineFit run() {
    memory();
    fit_.links = fit_links(all_);
    fit_.model.memory_efficiency.fill(1);
    fit_.model.kinds.fill({1, 1});
    fitting::gemms(kernels_, fit_);
    fitting::attention(kernels_, fit_);
    fitting::convolutions(kernels_, fit_);
    others();
    for (const MachineMeasurement& each : of_kind(all_, Kind::beside)) {
      fit_.model.slowdown_while_communicating = std::max(1.0, each.ratio);
    }
    return std::move(fit_);
  }

 private:
  /// Of copies that last long enough; in the largest, pages may be missed by the GPU's tables.
  [[nodiscard]] Rate best_rate() const {
    double best = 0;
    for (const auto& [bytes, time] : fit_.copy.points) {
      best = std::max(best, 2 * static_cast<double>(bytes) / time);
    }
    return Rate::bytes_per_second(static_cast<std::uint64_t>(std::llround(best)));
  }

  /// What is touched by all streams, and the time of touching it once. More is never quicker.
  void together() {
    double best = 0;
    std::vector<std::pair<std::int64_t, double>> out;
    const Measurements all = of_kind(all_, Kind::together);
    for (std::size_t i = all.size(); i-- > 0;) {
      const MachineMeasurement& each = all[i];
      const std::int64_t touched = std::int64_t{2} * each.to * each.bytes;
      const double left = std::max(each.seconds / 100, each.seconds - fit_.empty_copy.seconds());
      best = std::max(best, static_cast<double>(touched) / left);
      out.emplace_back(touched, static_cast<double>(touched) / best);
    }
    fit_.together.points.assign(out.rbegin(), out.rend());
    if (!all.empty()) fit_.issue = duration(all.front().seconds / all.front().to);
  }

  /// A byte copied is read and written once.
  void memory() {
    fit_.copy = curve_of(all_, Kind::copy, "fp32");
    for (const NumberType type :
         {NumberType::fp64, NumberType::fp32, NumberType::bf16, NumberType::fp16}) {
      fit_.add[static_cast<std::size_t>(type)] = curve_of(all_, Kind::add, to_string(type));
    }
    LOCKSTEP_CHECK(!fit_.copy.points.empty());
    fit_.model.memory_bandwidth = best_rate();
    fit_.empty_copy = duration(first_seconds(all_, Kind::empty_copy));
    together();
    fit_.model.launch = duration(first_seconds(all_, Kind::graph_node));
    // A host that computes itself issues nothing.
    if (!fit_.serial) fit_.model.host_time = duration(first_seconds(all_, Kind::launch));
  }

  /// Kernels that move their operands: what each takes however small it is, in launches, and bytes
  /// over the least.
  void others() {
    std::map<OperationKind, Measurements> rows;
    for (const MachineMeasurement& each : kernels_) {
      const Kernel& of = each.kernel;
      if (uses_matrix_units(of.kind) || of.moved_bytes <= 0) continue;
      rows[of.kind].push_back(each);
    }
    for (auto& [kind, of_kind] : rows) {
      fit_.model.kinds[static_cast<std::size_t>(kind)] = figures_of(of_kind);
    }
  }
  [[nodiscard]] KindFigures figures_of(const Measurements& rows) const {
    const double launch = fit_.model.launch.seconds();
    const double memory = fit_.model.memory_bandwidth.bytes_per_second();
    std::vector<double> kernels;
    std::vector<double> traffic;
    for (const MachineMeasurement& each : rows) {
      kernels.push_back(each.kernels);
      traffic.push_back(std::max(kLeastTraffic, (each.seconds - each.kernels * launch) * memory /
                                                    each.kernel.moved_bytes));
    }
    KindFigures out{median(kernels), median(traffic)};
    const auto error = [&] {
      double sum = 0;
      for (const MachineMeasurement& each : rows) {
        const double time = out.kernels * launch + out.traffic * each.kernel.moved_bytes / memory;
        sum += std::abs(std::log(time / each.seconds));
      }
      return sum;
    };
    // Of one size, the two cannot be told apart; a host that computes itself launches nothing.
    if (rows.size() > 2 && launch > 0) {
      descend({{&out.kernels, out.kernels / 4, out.kernels * 100},
               {&out.traffic, kLeastTraffic, kMostTraffic}},
              error, fitting::from_afar());
    }
    return out;
  }

  const Measurements& all_;
  Measurements kernels_;
  MachineFit fit_{};
};

}  // namespace

MachineFit fit_machine(const std::vector<MachineMeasurement>& measurements, bool is_host,
                       std::int64_t multiprocessors) {
  return Fitting{measurements, is_host, multiprocessors}.run();
}

}  // namespace lockstep
