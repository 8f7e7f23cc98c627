#include "tools/lockstep/validate/validate_render.hpp"
#include "tools/app/fingerprint.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "strategies/measure/validation/stack_rule.hpp"
#include "tools/app/json.hpp"
#include "tools/lockstep/validate/validate_tables.hpp"

namespace lockstep::cli {

namespace {

constexpr std::size_t kWorstShown = 10;  // of each quantity

struct Part {
  std::string title;
  Report report;
};

std::vector<Comparison> worst_rows(const std::vector<Comparison>& rows) {
  std::vector<Comparison> sorted = rows;
  std::stable_sort(sorted.begin(), sorted.end(), [](const Comparison& a, const Comparison& b) {
    if (a.quantity != b.quantity) return a.quantity < b.quantity;
    return std::abs(a.error()) > std::abs(b.error());
  });
  std::vector<Comparison> out;
  std::size_t of_quantity = 0;
  for (const Comparison& row : sorted) {
    if (!out.empty() && out.back().quantity != row.quantity) of_quantity = 0;
    if (of_quantity++ < kWorstShown) out.push_back(row);
  }
  return out;
}

std::vector<Part> parts_of(const ValidateResult& result, bool every_row) {
  const ValidationSummary summary = summarise_comparisons(result.rows);
  std::vector<Part> out;
  out.push_back({"overall: means over groups, each counting once", overall_report(summary)});
  out.push_back({"|error| by group; flat: one utilization fitted to the group's own rows",
                 group_report(summary)});
  Report ranking = ranking_report(summary);
  if (!ranking.sections.front().rows.empty())
    out.push_back(
        {"sets that differ in layout alone: rank correlation, and what the layout that is "
         "simulated fastest takes over the truly fastest",
         std::move(ranking)});
  const std::vector<GroupCoverage> coverage = coverage_by_others(result.rows);
  if (!coverage.empty())
    out.push_back(
        {"how many measured step times lie in the 80 % interval that the other groups give",
         coverage_report(coverage)});
  out.push_back(every_row ? Part{"all rows", comparison_report(result.rows)}
                          : Part{"the worst rows of each quantity (--rows shows all)",
                                 comparison_report(worst_rows(result.rows))});
  if (!result.left_out.empty())
    out.push_back(
        {fmt::format("left out: {}", result.left_out.size()), left_out_report(result.left_out)});
  return out;
}

std::string text_of(const std::vector<Part>& parts, const OutputStyle& style) {
  std::string out;
  for (const Part& part : parts) {
    Report report = part.report;
    report.sections.front().notes = {part.title};
    out += (out.empty() ? "" : "#\n") + render(report, style);
  }
  return out;
}

std::string markdown_of(const std::vector<Part>& parts) {
  std::string out;
  for (const Part& part : parts)
    out += (out.empty() ? "" : "\n") + ("**" + part.title + "**\n\n") +
           render(part.report, Format::md);
  return out;
}

/// The rows of a report as JSON, keyed by its columns.
Json rows_of(Report report) {
  report.config = "{}";
  return Json::parse(render(report, Format::json))["rows"];
}

Json figures_of(const ErrorFigures& figures) {
  return {{"count", figures.count},          {"median_fraction", figures.median},
          {"mean_fraction", figures.mean},   {"p90_fraction", figures.p90},
          {"worst_fraction", figures.worst}, {"bias_fraction", figures.bias}};
}

Json ranking_of(const RankingFigures& ranking) {
  if (ranking.sets == 0) return nullptr;
  return {{"sets", ranking.sets},
          {"rows", ranking.rows},
          {"kendall_tau", ranking.tau},
          {"regret_fraction", ranking.regret},
          {"worst_regret_fraction", ranking.worst_regret}};
}

Json json_of(const GroupFigures& group) {
  Json out;
  out["group"] = group.group;
  out["quantity"] = to_string(group.quantity);
  out["all"] = figures_of(group.all);
  out["printed"] = figures_of(group.printed);
  out["assumed"] = figures_of(group.assumed);
  out["flat_utilisation"] = nullptr;
  if (group.baseline) {
    out["flat_utilisation"] = {{"peak_fraction", group.baseline->utilisation},
                               {"errors", figures_of(group.baseline->errors)}};
  }
  out["ranking"] = ranking_of(group.ranking);
  return out;
}

Json json_of(const OverallFigures& overall) {
  Json out;
  out["quantity"] = to_string(overall.quantity);
  out["groups"] = overall.groups;
  out["all"] = figures_of(overall.all);
  out["printed"] = figures_of(overall.printed);
  out["assumed"] = figures_of(overall.assumed);
  out["flat_utilisation"] = overall.baseline ? figures_of(*overall.baseline) : Json(nullptr);
  return out;
}

Json config_of(const ValidateRequest& request) {
  Json out;
  Json files = Json::array();
  for (const auto& file : request.files) files.push_back(file.string());
  out["files"] = std::move(files);
  out["group"] = request.group.empty() ? Json(nullptr) : Json(request.group);
  out["core"] = request.core;
  out["quantity"] = request.quantity ? Json(to_string(*request.quantity)) : Json(nullptr);
  out["limit"] = request.limit ? Json(*request.limit) : Json(nullptr);
  out["stack"] = request.stack.empty() ? Json(nullptr) : Json(request.stack);
  Json rules = Json::array();
  for (const StackRule& rule : stack_rules())
    rules.push_back({{"when", rule.when},
                     {"stack", rule.stack.empty() ? Json(nullptr) : Json(rule.stack)},
                     {"dropout", rule.dropout},
                     {"reason", rule.reason}});
  out["stack_rules"] = std::move(rules);
  return out;
}

std::string fingerprint_of(const ValidateResult& result) {
  Fingerprint fingerprint;
  for (const Comparison& row : result.rows) fingerprint.add(std::llround(row.error() * 1e9));
  fingerprint.add(static_cast<std::int64_t>(result.left_out.size()));
  return fingerprint.text();
}

std::string json_text_of(const ValidateRequest& request, const ValidateResult& result) {
  Report report = comparison_report(result.rows);
  report.schema = "lockstep.validate/3";
  report.config = config_of(request).dump();
  report.seed = 1;
  report.fingerprint = fingerprint_of(result);
  Json out = Json::parse(render(report, Format::json));
  const ValidationSummary summary = summarise_comparisons(result.rows);
  Json groups = Json::array();
  for (const GroupFigures& group : summary.groups) groups.push_back(json_of(group));
  Json overall = Json::array();
  for (const OverallFigures& each : summary.overall) overall.push_back(json_of(each));
  out["groups"] = std::move(groups);
  out["overall"] = std::move(overall);
  out["coverage"] = rows_of(coverage_report(coverage_by_others(result.rows)));
  out["not_modeled"] = rows_of(left_out_report(result.left_out));
  return out.dump(2) + "\n";
}

}  // namespace

std::string render_validation(const ValidateRequest& request, const ValidateResult& result,
                              const OutputStyle& style, bool every_row) {
  switch (style.format) {
    case Format::json:
      return json_text_of(request, result);
    case Format::csv:
      return render(comparison_report(result.rows), Format::csv);
    case Format::md:
      return markdown_of(parts_of(result, every_row));
    case Format::table:
      break;
  }
  return text_of(parts_of(result, every_row), style);
}

}  // namespace lockstep::cli
