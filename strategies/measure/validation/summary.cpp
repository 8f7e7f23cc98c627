#include "strategies/measure/validation/summary.hpp"

#include <map>
#include <utility>

namespace lockstep {

namespace {

using GroupKey = std::pair<ComparedQuantity, std::string>;

GroupFigures figures_of(const GroupKey& key, const std::vector<Comparison>& rows) {
  GroupFigures out{key.second, key.first};
  std::vector<double> all;
  std::vector<double> printed;
  std::vector<double> assumed;
  for (const Comparison& row : rows) {
    all.push_back(row.error());
    (row.assumed ? assumed : printed).push_back(row.error());
  }
  out.all = error_figures(all);
  out.printed = error_figures(printed);
  out.assumed = error_figures(assumed);
  if (out.quantity != ComparedQuantity::step_time) return out;
  out.ranking = ranking_figures(rows);
  const FlatUtilisation flat = flat_utilisation(rows);
  if (flat.errors.count > 0) out.baseline = flat;
  return out;
}

/// Figures of the groups that have any.
std::vector<ErrorFigures> of_groups(const std::vector<GroupFigures>& groups,
                                    ErrorFigures GroupFigures::*part) {
  std::vector<ErrorFigures> out;
  for (const GroupFigures& group : groups) {
    if ((group.*part).count > 0) out.push_back(group.*part);
  }
  return out;
}

OverallFigures over(ComparedQuantity quantity, const std::vector<GroupFigures>& groups) {
  OverallFigures out;
  out.quantity = quantity;
  out.groups = groups.size();
  out.all = mean_of(of_groups(groups, &GroupFigures::all));
  const auto printed = of_groups(groups, &GroupFigures::printed);
  const auto assumed = of_groups(groups, &GroupFigures::assumed);
  out.printed_groups = printed.size();
  out.assumed_groups = assumed.size();
  out.printed = mean_of(printed);
  out.assumed = mean_of(assumed);
  std::vector<ErrorFigures> baseline;
  for (const GroupFigures& group : groups) {
    if (group.baseline) baseline.push_back(group.baseline->errors);
  }
  if (!baseline.empty()) out.baseline = mean_of(baseline);
  return out;
}

}  // namespace

ValidationSummary summarise_comparisons(std::span<const Comparison> rows) {
  std::map<GroupKey, std::vector<Comparison>> by_group;
  for (const Comparison& row : rows) by_group[{row.quantity, row.group}].push_back(row);
  ValidationSummary out;
  std::map<ComparedQuantity, std::vector<GroupFigures>> by_quantity;
  for (const auto& [key, of_group] : by_group) {
    out.groups.push_back(figures_of(key, of_group));
    by_quantity[key.first].push_back(out.groups.back());
  }
  for (const auto& [quantity, groups] : by_quantity) out.overall.push_back(over(quantity, groups));
  return out;
}

}  // namespace lockstep
