#include "tools/lockstep/validate/validate_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace lockstep::cli {

namespace {

/// In a unit that leaves a few digits before the point.
std::string scaled(double value, std::string_view unit) {
  struct Step {
    double factor;
    const char* prefix;
  };
  static constexpr std::array<Step, 8> kSteps{{{1e15, "P"},
                                               {1e12, "T"},
                                               {1e9, "G"},
                                               {1e6, "M"},
                                               {1e3, "k"},
                                               {1, ""},
                                               {1e-3, "m"},
                                               {1e-6, "u"}}};
  for (const Step& step : kSteps) {
    const bool seconds = unit == "s";
    if (seconds && step.factor > 1) continue;
    if (std::abs(value) >= step.factor || &step == &kSteps.back())
      return fmt::format("{:.4g} {}{}", value / step.factor, step.prefix, unit);
  }
  return {};
}

std::string percent(double value) {
  return fmt::format("{:.1f}", 100 * value);
}

std::string signed_percent(double value) {
  return fmt::format("{:+.1f}", 100 * value);
}

Cell share(double value) {
  return Cell{value, percent(value)};
}

Cell signed_share(double value) {
  return Cell{value, signed_percent(value)};
}

Cell count(std::size_t value) {
  return Cell{static_cast<std::int64_t>(value)};
}

Cell text(std::string_view value) {
  return Cell{std::string{value}};
}

/// Of one set of errors: rows, then the figures; blank where there are no rows.
void add_figures(const ErrorFigures& figures, std::vector<Cell>& row) {
  row.push_back(count(figures.count));
  if (figures.count == 0) {
    row.resize(row.size() + 5);
    return;
  }
  for (const double value : {figures.median, figures.mean, figures.p90, figures.worst})
    row.push_back(share(value));
  row.push_back(signed_share(figures.bias));
}

std::vector<Column> figure_columns() {
  return {{"count", "rows", ""},
          {"median_abs_error_fraction", "median", "(%)"},
          {"mean_abs_error_fraction", "mean", "(%)"},
          {"p90_abs_error_fraction", "p90", "(%)"},
          {"worst_abs_error_fraction", "worst", "(%)"},
          {"bias_fraction", "bias", "(%)"}};
}

/// Medians alone, of rows without and with assumed fields.
void add_parts(const ErrorFigures& printed, const ErrorFigures& assumed, std::vector<Cell>& row) {
  for (const ErrorFigures* part : {&printed, &assumed}) {
    row.push_back(count(part->count));
    row.push_back(part->count > 0 ? share(part->median) : Cell{});
    row.push_back(part->count > 0 ? share(part->p90) : Cell{});
  }
}

std::vector<Column> part_columns() {
  return {
      {"printed_count", "printed", "rows"},         {"printed_median_fraction", "median", "(%)"},
      {"printed_p90_fraction", "p90", "(%)"},       {"assumed_count", "assumed", "rows"},
      {"assumed_median_fraction", "median", "(%)"}, {"assumed_p90_fraction", "p90", "(%)"}};
}

/// On a narrow terminal: figures of the parts, then of a flat utilization, then the finer ones.
const std::vector<std::string> kPartsFirst = {
    "assumed_p90_fraction",     "assumed_median_fraction", "assumed_count",
    "printed_p90_fraction",     "printed_median_fraction", "printed_count",
    "flat_p90_fraction",        "flat_median_fraction",    "flat_peak_fraction",
    "worst_abs_error_fraction", "bias_fraction",           "p90_abs_error_fraction"};

void add_columns(std::vector<Column> more, std::vector<Column>& to) {
  to.insert(to.end(), more.begin(), more.end());
}

std::vector<Cell> group_row(const GroupFigures& group) {
  std::vector<Cell> row{text(to_string(group.quantity)), text(group.group)};
  add_figures(group.all, row);
  add_parts(group.printed, group.assumed, row);
  if (group.baseline) {
    row.push_back(share(group.baseline->utilisation));
    row.push_back(share(group.baseline->errors.median));
    row.push_back(share(group.baseline->errors.p90));
  } else {
    row.resize(row.size() + 3);
  }
  return row;
}

std::vector<Cell> overall_row(const OverallFigures& overall) {
  std::vector<Cell> row{text(to_string(overall.quantity)), count(overall.groups)};
  add_figures(overall.all, row);
  add_parts(overall.printed, overall.assumed, row);
  if (overall.baseline) {
    row.push_back(share(overall.baseline->median));
    row.push_back(share(overall.baseline->p90));
  } else {
    row.resize(row.size() + 2);
  }
  return row;
}

}  // namespace

Report comparison_report(const std::vector<Comparison>& rows) {
  Report out;
  out.columns = {{"id", "row", "", true},
                 {"group", "group", "", true},
                 {"quantity", "quantity", "", true},
                 {"unit", "", ""},
                 {"measured", "measured", ""},
                 {"simulated", "simulated", ""},
                 {"error_fraction", "error", "(%)"},
                 {"stack", "stack", "", true},
                 {"assumed", "", ""},
                 {"core", "", ""},
                 {"reported_slowdown_fraction", "", ""},
                 {"evaluation_s", "", ""}};
  out.left_out_first = {"stack", "group", "quantity"};
  Section section;
  for (const Comparison& row : rows) {
    const std::string_view unit = unit_of(row.quantity);
    section.rows.push_back({text(row.id), text(row.group), text(to_string(row.quantity)),
                            text(unit), Cell{row.measured, scaled(row.measured, unit)},
                            Cell{row.simulated, scaled(row.simulated, unit)},
                            signed_share(row.error()), text(row.stack), Cell{row.assumed},
                            Cell{row.core}, signed_share(row.reported_slowdown),
                            Cell{row.evaluation}});
  }
  out.sections.push_back(std::move(section));
  return out;
}

Report coverage_report(const std::vector<GroupCoverage>& coverage) {
  Report out;
  out.columns = {{"group", "group", "", true},
                 {"runs", "runs", ""},
                 {"inside", "inside", ""},
                 {"inside_fraction", "share", "(%)"}};
  Section section;
  std::size_t runs = 0;
  std::size_t inside = 0;
  double shares = 0;
  for (const GroupCoverage& one : coverage) {
    section.rows.push_back(
        {text(one.group), count(one.runs), count(one.inside), share(one.share())});
    runs += one.runs;
    inside += one.inside;
    shares += one.share();
  }
  if (!coverage.empty())
    section.rows.push_back({text("mean of the groups"), count(runs), count(inside),
                            share(shares / static_cast<double>(coverage.size()))});
  out.sections.push_back(std::move(section));
  return out;
}

Report group_report(const ValidationSummary& summary) {
  Report out;
  out.columns = {{"quantity", "quantity", "", true}, {"group", "group", "", true}};
  add_columns(figure_columns(), out.columns);
  add_columns(part_columns(), out.columns);
  add_columns({{"flat_peak_fraction", "flat", "(% peak)"},
               {"flat_median_fraction", "median", "(%)"},
               {"flat_p90_fraction", "p90", "(%)"}},
              out.columns);
  out.left_out_first = kPartsFirst;
  Section section;
  for (const GroupFigures& group : summary.groups) section.rows.push_back(group_row(group));
  out.sections.push_back(std::move(section));
  return out;
}

Report overall_report(const ValidationSummary& summary) {
  Report out;
  out.columns = {{"quantity", "quantity", "", true}, {"groups", "groups", ""}};
  add_columns(figure_columns(), out.columns);
  add_columns(part_columns(), out.columns);
  add_columns(
      {{"flat_median_fraction", "flat", "median (%)"}, {"flat_p90_fraction", "flat", "p90 (%)"}},
      out.columns);
  out.left_out_first = kPartsFirst;
  Section section;
  for (const OverallFigures& each : summary.overall) section.rows.push_back(overall_row(each));
  out.sections.push_back(std::move(section));
  return out;
}

Report ranking_report(const ValidationSummary& summary) {
  Report out;
  out.columns = {{"group", "group", "", true},
                 {"sets", "sets", ""},
                 {"rows", "rows", ""},
                 {"kendall_tau", "tau", ""},
                 {"regret_fraction", "regret", "(%)"},
                 {"worst_regret_fraction", "worst", "(%)"}};
  Section section;
  for (const GroupFigures& group : summary.groups) {
    const RankingFigures& ranking = group.ranking;
    if (ranking.sets == 0) continue;
    section.rows.push_back({text(group.group), count(ranking.sets), count(ranking.rows),
                            Cell{ranking.tau, fmt::format("{:.2f}", ranking.tau)},
                            share(ranking.regret), share(ranking.worst_regret)});
  }
  out.sections.push_back(std::move(section));
  return out;
}

namespace {

/// On one line: "/cluster/nodes: ..." for each problem.
std::string problems_text(const std::vector<RequestProblem>& problems) {
  std::string out;
  for (const RequestProblem& problem : problems)
    out += (out.empty() ? "" : "; ") + (problem.place.empty() ? "" : problem.place + ": ") +
           problem.message;
  std::replace(out.begin(), out.end(), '\n', ' ');
  return out;
}

std::string reason_text(const UnmodeledRow& of) {
  switch (of.reason) {
    case UnmodeledReason::error:
      break;
    case UnmodeledReason::missing_layer:
      return fmt::format("{}: no such layer in its program", to_string(of.quantity.value()));
    case UnmodeledReason::shape_not_printed:
      return "the shape that reached it is not printed";
    case UnmodeledReason::host_link:
      return "the link to the host is not a parameter of a device";
    case UnmodeledReason::attention_over_gpus:
      return "one attention over several GPUs is not a training step";
    case UnmodeledReason::no_chosen_algorithm:
      return "no times of an algorithm that NCCL chooses";
    case UnmodeledReason::no_fitted_parameters:
      return "only products and fused attention have values to fit";
    case UnmodeledReason::assumed_fields:
      return "its source does not print all of it: nothing is fitted";
    case UnmodeledReason::few_runs:
      return fmt::format("{} runs that can be modeled are too few to fit a stack to", of.runs);
    case UnmodeledReason::no_better_fit:
      return "no other host time or slowdown is better";
    case UnmodeledReason::host_time_at_limit:
      return "its steps are too fast by more than a host time can explain";
    case UnmodeledReason::slowdown_at_limit:
      return "its steps are too fast by more than a slowdown during communication can explain";
  }
  return problems_text(of.problems);
}

}  // namespace

Report left_out_report(const std::vector<UnmodeledRow>& left_out) {
  Report out;
  out.columns = {
      {"id", "row", "", true}, {"group", "group", "", true}, {"reason", "reason", "", true}};
  out.left_out_first = {"group"};
  Section section;
  for (const UnmodeledRow& each : left_out)
    section.rows.push_back({text(each.id), text(each.group), text(reason_text(each))});
  out.sections.push_back(std::move(section));
  return out;
}

}  // namespace lockstep::cli
