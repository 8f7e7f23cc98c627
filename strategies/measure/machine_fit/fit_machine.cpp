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
    fit_.empty_copy = duration(first_seconds(all_, Kind::empty_copy));
    fit_.model.launch = duration(first_seconds(all_, Kind::graph_node));
    // A host that computes itself issues nothing.
    if (!fit_.serial) fit_.model.host_time = duration(first_seconds(all_, Kind::launch));
  }

  /// Kernels that move their operands: launches, and bytes over the least.
  void others() {
    std::map<OperationKind, std::vector<double>> traffic;
    std::map<OperationKind, std::vector<double>> kernels;
    for (const MachineMeasurement& each : kernels_) {
      const Kernel& of = each.kernel;
      if (fitting::is_gemm(of.kind) || of.moved_bytes <= 0) continue;
      const double left = each.seconds - each.kernels * fit_.model.launch.seconds();
      traffic[of.kind].push_back(std::max(
          kLeastTraffic, left * fit_.model.memory_bandwidth.bytes_per_second() / of.moved_bytes));
      kernels[of.kind].push_back(each.kernels);
    }
    for (auto& [kind, values] : traffic) {
      fit_.model.kinds[static_cast<std::size_t>(kind)] = {median(kernels[kind]), median(values)};
    }
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
