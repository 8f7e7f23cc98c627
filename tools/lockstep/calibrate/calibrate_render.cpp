#include "tools/lockstep/calibrate/calibrate_render.hpp"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "tools/app/fingerprint.hpp"
#include "tools/app/json.hpp"
#include "tools/lockstep/calibrate/fitted_text.hpp"
#include "tools/lockstep/validate/validate_tables.hpp"

namespace lockstep::cli {

namespace {

Cell text(const std::string& value) {
  return Cell{value};
}

Cell share(double value) {
  return Cell{value, fmt::format("{:.1f}", 100 * value)};
}

Cell share_of(const ErrorFigures& figures, double value) {
  return figures.count == 0 ? Cell{} : share(value);
}

void add_errors(const ErrorFigures& errors, std::vector<Cell>& row) {
  row.push_back(Cell{static_cast<std::int64_t>(errors.count)});
  for (const double value : {errors.median, errors.mean, errors.p90, errors.worst})
    row.push_back(share_of(errors, value));
  row.push_back(errors.count == 0 ? Cell{}
                                  : Cell{errors.bias, fmt::format("{:+.1f}", 100 * errors.bias)});
}

std::vector<Column> error_columns() {
  return {{"count", "rows", ""},
          {"median_abs_error_fraction", "median", "(%)"},
          {"mean_abs_error_fraction", "mean", "(%)"},
          {"p90_abs_error_fraction", "p90", "(%)"},
          {"worst_abs_error_fraction", "worst", "(%)"},
          {"bias_fraction", "bias", "(%)"}};
}

Report fitted_report(const CalibrateResult& result) {
  Report out;
  out.columns = {{"what", "fitted", "", true},
                 {"of", "of", "", true},
                 {"figures", "values", "", true},
                 {"mean_abs_error_before_fraction", "before", "(%)"}};
  for (Column& column : error_columns()) out.columns.push_back(std::move(column));
  out.left_out_first = {"worst_abs_error_fraction", "bias_fraction", "p90_abs_error_fraction",
                        "count"};
  Section section;
  for (const FittedFigures& fitted : result.fitted) {
    const FittedText words = fitted_text(fitted);
    std::vector<Cell> row{text(words.what), text(words.of), text(words.figures),
                          share_of(fitted.before, fitted.before.mean)};
    add_errors(fitted.after, row);
    section.rows.push_back(std::move(row));
  }
  out.sections.push_back(std::move(section));
  return out;
}

Report residual_report(const CalibrateResult& result) {
  Report out;
  out.columns = {{"part", "rows to", "", true},
                 {"quantity", "quantity", "", true},
                 {"group", "group", "", true}};
  for (Column& column : error_columns()) out.columns.push_back(std::move(column));
  out.left_out_first = {"worst_abs_error_fraction", "bias_fraction", "p90_abs_error_fraction",
                        "count"};
  Section section;
  for (const CalibrateResidual& each : result.residuals) {
    std::vector<Cell> row{text(each.part), text(each.quantity), text(each.group)};
    add_errors(each.errors, row);
    section.rows.push_back(std::move(row));
  }
  out.sections.push_back(std::move(section));
  return out;
}

Json rows_of(Report report) {
  report.config = "{}";
  return Json::parse(render(report, Format::json))["rows"];
}

std::string config_of(const CalibrateRequest& request) {
  Json out;
  out["from"] = Json::array();
  for (const auto& file : request.from) out["from"].push_back(file.string());
  out["check"] = Json::array();
  for (const auto& file : request.check) out["check"].push_back(file.string());
  out["split"] = request.split;
  out["runs"] = request.runs;
  return out.dump();
}

std::string json_text_of(const CalibrateRequest& request, const CalibrateResult& result) {
  Report report = fitted_report(result);
  report.schema = "lockstep.calibrate/2";
  report.config = config_of(request);
  report.seed = 1;
  Fingerprint fingerprint;
  for (const FittedFigures& each : result.fitted)
    fingerprint.add(std::llround(each.after.mean * 1e9));
  report.fingerprint = fingerprint.text();
  Json out = Json::parse(render(report, Format::json));
  out["residuals"] = rows_of(residual_report(result));
  out["left_out"] = rows_of(left_out_report(result.left_out));
  return out.dump(2) + "\n";
}

}  // namespace

std::string render_calibration(const CalibrateRequest& request, const CalibrateResult& result,
                               const OutputStyle& style) {
  if (style.format == Format::json) return json_text_of(request, result);
  if (style.format == Format::csv) return render(fitted_report(result), Format::csv);
  std::string out =
      render(fitted_report(result), style) + "\n" + render(residual_report(result), style);
  if (!result.left_out.empty()) out += "\n" + render(left_out_report(result.left_out), style);
  return out;
}

}  // namespace lockstep::cli
