#include "tools/lockstep/calibrate/calibrate_question.hpp"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "strategies/calibration/split.hpp"
#include "strategies/validation/measured_file.hpp"
#include "tools/lockstep/calibrate/fits.hpp"
#include "tools/lockstep/errors.hpp"
#include "tools/lockstep/validate/validate_question.hpp"

namespace lockstep::cli {

namespace {

MeasuredSplit rows_of(const CalibrateQuestion& question) {
  std::vector<Measured> from = load_measured(question.from);
  if (from.empty()) throw UsageError("--from: the files hold no measured results");
  MeasuredSplit out;
  if (question.split) {
    out = split_measured(std::move(from));
  } else {
    out.fit = std::move(from);
  }
  if (!question.check.empty()) out.check = load_measured(question.check);
  return out;
}

}  // namespace

std::vector<CalibrateResidual> residuals_of(const std::vector<Measured>& rows,
                                            const CalibrateAnswer& answer,
                                            const std::string& part) {
  ValidateQuestion question;
  question.figures = &answer.calibration;
  const ValidateAnswer compared = validate(question, rows);
  const ValidationSummary summary = summarise_comparisons(compared.rows);
  std::vector<CalibrateResidual> out;
  for (const GroupFigures& group : summary.groups)
    out.push_back({part, std::string{to_string(group.quantity)}, group.group, group.all});
  for (const OverallFigures& all : summary.overall)
    out.push_back({part, std::string{to_string(all.quantity)}, "all", all.all});
  return out;
}

CalibrateAnswer calibrate(const CalibrateQuestion& question) {
  const MeasuredSplit rows = rows_of(question);
  CalibrateAnswer out;
  out.calibration.name = question.name;
  out.calibration.summary = fmt::format("fitted to {} runs and tables, checked with {}",
                                        rows.fit.size(), rows.check.size());
  fit_collectives(rows.fit, out);
  fit_devices(rows.fit, out);
  fit_steps(rows.fit, question.runs, out);
  if (out.fitted.empty()) throw UsageError("--from: nothing that could be fitted to");
  out.residuals = residuals_of(rows.fit, out, "fit");
  for (CalibrateResidual& each : residuals_of(rows.check, out, "check"))
    out.residuals.push_back(std::move(each));
  return out;
}

}  // namespace lockstep::cli
