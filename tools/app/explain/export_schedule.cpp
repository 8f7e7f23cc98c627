#include "tools/app/explain/export_schedule.hpp"

#include <fmt/format.h>

#include <utility>

#include "strategies/interop/goal/goal_export.hpp"
#include "strategies/interop/msccl/msccl_export.hpp"
#include "tools/app/errors.hpp"

namespace lockstep::app {

namespace {

void write_msccl_into(const ExportRequest& request, ExportResult& out) {
  const AlgorithmSpec& spec = request.stage.spec;
  MscclExportOptions options;
  options.collective = spec.algorithm->collective;
  options.ranks = out.stage.input.n;
  options.root = out.stage.input.root;
  options.name = fmt::format("{}_{}", to_string(options.collective), spec.text());
  options.protocol = request.protocol;
  MscclExport made = write_msccl(*out.stage.schedule, options);
  if (!made.problem.empty()) throw Refusal(made.problem);
  out.text = std::move(made.text);
  out.warnings = std::move(made.warnings);
}

}  // namespace

ExportResult export_schedule(const ExportRequest& request) {
  const std::string& protocol = request.protocol;
  if (protocol != "Simple" && protocol != "LL" && protocol != "LL128")
    throw RequestError("protocol",
                       fmt::format("expected Simple, LL or LL128, got \"{}\"", protocol));
  if (request.form != "msccl" && request.form != "goal")
    throw RequestError("format", fmt::format("expected msccl or goal, got \"{}\"", request.form));
  ExportResult out{make_stage(request.stage), {}, {}};
  if (request.form == "goal") {
    GoalExport options;
    options.block = out.stage.layout.block;
    out.text = write_goal(*out.stage.schedule, options);
  } else {
    write_msccl_into(request, out);
  }
  return out;
}

}  // namespace lockstep::app
