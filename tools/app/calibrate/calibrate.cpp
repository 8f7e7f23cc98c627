#include "tools/app/calibrate/calibrate.hpp"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "strategies/measure/fit/split.hpp"
#include "strategies/measure/validation/measured_file.hpp"
#include "tools/app/calibrate/fits.hpp"
#include "tools/app/errors.hpp"
#include "tools/app/validate/validate.hpp"

namespace lockstep::app {

namespace {

MeasuredSplit rows_of(const CalibrateRequest& request) {
  std::vector<Measured> from = load_measured(request.from);
  if (from.empty()) throw RequestError("from", "the files hold no measured results");
  MeasuredSplit out;
  if (request.split) {
    out = split_measured(std::move(from));
  } else {
    out.fit = std::move(from);
  }
  if (!request.check.empty()) out.check = load_measured(request.check);
  return out;
}

}  // namespace

std::vector<CalibrateResidual> residuals_of(const std::vector<Measured>& rows,
                                            const CalibrateResult& result,
                                            const std::string& part) {
  ValidateRequest request;
  request.figures = &result.calibration;
  const ValidateResult compared = validate(request, rows);
  const ValidationSummary summary = summarise_comparisons(compared.rows);
  std::vector<CalibrateResidual> out;
  for (const GroupFigures& group : summary.groups)
    out.push_back({part, std::string{to_string(group.quantity)}, group.group, group.all});
  for (const OverallFigures& all : summary.overall)
    out.push_back({part, std::string{to_string(all.quantity)}, "all", all.all});
  return out;
}

CalibrateResult calibrate(const CalibrateRequest& request) {
  const MeasuredSplit rows = rows_of(request);
  CalibrateResult out;
  out.calibration.name = request.name;
  out.calibration.summary = fmt::format("fitted to {} runs and tables, checked with {}",
                                        rows.fit.size(), rows.check.size());
  fit_collectives(rows.fit, out);
  fit_devices(rows.fit, out);
  fit_steps(rows.fit, request.runs, out);
  if (out.fitted.empty()) throw RequestError("from", "nothing that could be fitted to");
  out.residuals = residuals_of(rows.fit, out, "fit");
  for (CalibrateResidual& each : residuals_of(rows.check, out, "check"))
    out.residuals.push_back(std::move(each));
  return out;
}

}  // namespace lockstep::app
