#include "strategies/measure/confidence/coverage.hpp"

#include <map>

#include "strategies/measure/confidence/confidence.hpp"

namespace lockstep {

namespace {

using ByGroup = std::map<std::string, std::vector<const Comparison*>>;

ByGroup step_times(std::span<const Comparison> rows) {
  ByGroup out;
  for (const Comparison& row : rows)
    if (row.quantity == ComparedQuantity::step_time && row.kind) out[row.group].push_back(&row);
  return out;
}

std::vector<ValidatedRun> all_but(const ByGroup& groups, const std::string& left_out) {
  std::vector<ValidatedRun> out;
  for (const auto& [group, rows] : groups) {
    if (group == left_out) continue;
    for (const Comparison* row : rows) out.push_back({*row->kind, group, row->error()});
  }
  return out;
}

}  // namespace

std::vector<GroupCoverage> coverage_by_others(std::span<const Comparison> rows) {
  const ByGroup groups = step_times(rows);
  std::vector<GroupCoverage> out;
  if (groups.size() < 3) return out;
  for (const auto& [group, members] : groups) {
    const std::vector<ValidatedRun> others = all_but(groups, group);
    const double width = interval_width(others).inside;
    GroupCoverage coverage{group, members.size(), 0};
    for (const Comparison* row : members) {
      const MeasuredRange range = measured_over_simulated(*row->kind, others, width);
      const double ratio = row->measured / row->simulated;
      if (range.low <= ratio && ratio <= range.high) ++coverage.inside;
    }
    out.push_back(std::move(coverage));
  }
  return out;
}

}  // namespace lockstep
