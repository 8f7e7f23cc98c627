#pragma once

#include <vector>

#include "strategies/measure/confidence/coverage.hpp"
#include "strategies/measure/validation/summary.hpp"
#include "tools/app/validate/validate.hpp"
#include "tools/lockstep/output/output.hpp"

/// Tables of a validation.
namespace lockstep::cli {

/// Columns of a comparison: id, group, quantity, unit, measured, simulated, error, and more in data
/// formats.
[[nodiscard]] Report comparison_report(const std::vector<Comparison>& rows);
[[nodiscard]] Report group_report(const ValidationSummary& summary);
[[nodiscard]] Report overall_report(const ValidationSummary& summary);
[[nodiscard]] Report ranking_report(const ValidationSummary& summary);
/// Coverage of prediction intervals from the other groups per group; the mean over groups last.
[[nodiscard]] Report coverage_report(const std::vector<GroupCoverage>& coverage);
[[nodiscard]] Report left_out_report(const std::vector<UnmodeledRow>& left_out);

}  // namespace lockstep::cli
