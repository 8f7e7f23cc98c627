#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/app/condition.hpp"
#include "tools/app/plan/setting.hpp"

namespace lockstep::app {

/// Price and power of a GPU; absent values are unknown.
using PlanPrices = OperatingCosts;

/// Effective prices: the given values, else those of the cluster file, else those of the device
/// file, with its maximum power as the draw.
[[nodiscard]] PlanPrices prices_in(const PlanSetting& setting, const PlanPrices& given);

/// Metrics by which layouts are compared.
enum class PlanMetric : std::uint8_t {
  step_time,
  tokens_per_s_per_gpu,
  mfu,
  days,
  gpu_hours,
  usd,
  energy,
  gpus,
  memory,
  memory_margin,
};
struct MetricInfo {
  PlanMetric metric;
  std::string_view name;  // in --objective, --pareto and --where
  std::string_view unit;  // "s"
  bool less_is_better;
  std::string_view needs;  // input it requires; empty: none
};
[[nodiscard]] const std::vector<MetricInfo>& plan_metrics();
/// Errors: RequestError at `place` for an unknown name.
[[nodiscard]] const MetricInfo& metric_named(std::string_view name, const std::string& place);
[[nodiscard]] const MetricInfo& info_of(PlanMetric metric);

/// Time and memory of a layout, or lower bounds on them.
struct PlanPoint {
  double step_s = 0;
  Bytes memory{};
};

/// A metric of a point at the prices of prices_in(); none if unknown. Monotone: less time or memory
/// never worsens a metric, so lower bounds on both bound every metric.
[[nodiscard]] std::optional<double> value_of(PlanMetric metric, const PlanPoint& point,
                                             const PlanSetting& setting, const PlanPrices& prices);

/// A limit: `days <= 30`, `memory_margin >= "4 GiB"`.
struct PlanLimit {
  PlanMetric metric = PlanMetric::step_time;
  Relation relation = Relation::at_most;  // one that orders
  double value = 0;
  std::string text;  // as written

  [[nodiscard]] bool holds(double of) const { return app::holds(of, relation, value); }
  /// Whether less time and memory can only help to satisfy it.
  [[nodiscard]] bool is_prunable() const;
};
/// Units: time ("10 s", "200 ms") for step_time, sizes ("4 GiB") for memory, plain numbers
/// otherwise. Errors: RequestError at "where".
[[nodiscard]] PlanLimit parse_limit(const std::string& text);

/// Whether a point satisfies all limits, or may satisfy them given its bounds. All metrics involved
/// must be known.
[[nodiscard]] bool holds(const std::vector<PlanLimit>& limits, const PlanPoint& point,
                         const PlanSetting& setting, const PlanPrices& prices);
[[nodiscard]] bool may_hold(const std::vector<PlanLimit>& limits, const PlanPoint& bound,
                            const PlanSetting& setting, const PlanPrices& prices);

/// Errors: RequestError for contradicting limits (days <= 3 and days >= 5).
void check_limits(const std::vector<PlanLimit>& limits);

}  // namespace lockstep::app
