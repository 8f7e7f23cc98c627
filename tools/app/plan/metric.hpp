#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/app/plan/setting.hpp"

namespace lockstep::app {

/// What a GPU costs and draws; unknown where nobody says.
using PlanPrices = OperatingCosts;

/// Those that are given; where they say nothing, those of the setting's cluster file and then of
/// its device file, whose maximum power counts as what it draws.
[[nodiscard]] PlanPrices prices_in(const PlanSetting& setting, const PlanPrices& given);

/// What layouts are compared by.
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
  std::string_view name;  // as --objective, --pareto and --where take it
  std::string_view unit;  // "s"
  bool less_is_better;
  std::string_view needs;  // what makes it unknown; empty: nothing
};
[[nodiscard]] const std::vector<MetricInfo>& plan_metrics();
/// Errors: RequestError at `place` for a name that is none.
[[nodiscard]] const MetricInfo& metric_named(std::string_view name, const std::string& place);
[[nodiscard]] const MetricInfo& info_of(PlanMetric metric);

/// Time and memory of a layout, or bounds on them.
struct PlanPoint {
  double step_s = 0;
  Bytes memory{};
};

/// A metric of a point at prices_in() its setting; none where it is unknown. Monotone: less time
/// and less memory never make any metric worse, so that bounds on both bound it.
[[nodiscard]] std::optional<double> value_of(PlanMetric metric, const PlanPoint& point,
                                             const PlanSetting& setting, const PlanPrices& prices);

/// A limit: `days <= 30`, `memory_margin >= "4 GiB"`.
struct PlanLimit {
  PlanMetric metric = PlanMetric::step_time;
  enum class Comparison : std::uint8_t {
    less,
    at_most,
    more,
    at_least
  } comparison = Comparison::at_most;
  double value = 0;
  std::string text;  // as written

  [[nodiscard]] bool holds(double of) const;
  /// Whether a point that is better in both time and memory could only hold it more.
  [[nodiscard]] bool is_prunable() const;
};
/// Units: seconds ("10 s", "200 ms") for step_time, GiB and the like for memory, plain numbers
/// else. Errors: RequestError with place "where".
[[nodiscard]] PlanLimit parse_limit(const std::string& text);

/// Whether a point holds all of these limits; whether a point that these bounds bound may. All of
/// their metrics must be known.
[[nodiscard]] bool holds(const std::vector<PlanLimit>& limits, const PlanPoint& point,
                         const PlanSetting& setting, const PlanPrices& prices);
[[nodiscard]] bool may_hold(const std::vector<PlanLimit>& limits, const PlanPoint& bound,
                            const PlanSetting& setting, const PlanPrices& prices);

/// Errors: RequestError where no point could hold all of the limits (days <= 3 and days >= 5).
void check_limits(const std::vector<PlanLimit>& limits);

}  // namespace lockstep::app
