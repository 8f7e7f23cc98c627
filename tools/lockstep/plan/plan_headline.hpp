#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/app/plan/plan.hpp"
#include "tools/lockstep/output/app.hpp"

namespace lockstep::cli {

/// A metric of a row; none if it is unknown or was not computed.
[[nodiscard]] std::optional<double> metric_of(const PlanRow& row, PlanMetric metric);

/// "5.77 s", "53.1 %", "78.84 GiB": a value of a metric with its unit.
[[nodiscard]] std::string metric_text(const MetricInfo& info, double value);

/// What was searched, the best layout with its step, memory if tight, cost and the command that
/// runs it, then the notes of the search. Lines above the table.
[[nodiscard]] std::vector<std::string> headline_of(const PlanResult& result);

}  // namespace lockstep::cli
