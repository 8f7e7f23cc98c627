#include "tools/lockstep/calibrate/device_render.hpp"

#include <fmt/format.h>
#include "tools/app/json.hpp"

#include <cmath>

namespace lockstep::cli {

namespace {

Cell time_cell(double seconds) {
  return Cell{seconds, fmt::format("{:.1f}", seconds * 1e6)};
}
Cell percent(double share) {
  return Cell{share, fmt::format("{:+.1f}", share * 100)};
}

std::string config_of(const CalibrateDeviceRequest& request) {
  const Json out{{"backend", request.backend},
                 {"quick", request.quick},
                 {"repeats", request.repeats},
                 {"calibration", request.measures ? Json(nullptr) : Json(request.file)}};
  return out.dump();
}

std::vector<std::string> about_links(const MachineLinks& of) {
  std::vector<std::string> out;
  for (const MachineLink& link : of.pairs) {
    out.push_back(fmt::format("GPU {} to GPU {}: {:.4g} GB/s after {:.3g} us", link.from, link.to,
                              link.bandwidth.bytes_per_second() / 1e9,
                              link.latency.seconds() * 1e6));
  }
  if (!of.port) return out;
  out.push_back(
      fmt::format("to all others at once: {:.4g} GB/s from each GPU; both ways at once: "
                  "{:.2f} times as long",
                  of.port->bytes_per_second() / 1e9, of.both_ways));
  return out;
}

std::vector<std::string> about(const MeasuredMachine& machine) {
  std::vector<std::string> out;
  out.push_back(
      fmt::format("{}: {} ({}), {}", machine.name, machine.device, machine.backend, machine.date));
  for (const auto& [name, value] : machine.facts) out.push_back(fmt::format("{}: {}", name, value));
  out.push_back(fmt::format("memory {:.4g} GB/s read and written, launch {:.3g} us, copy {:.3g} us",
                            machine.fit.model.memory_bandwidth.bytes_per_second() / 1e9,
                            machine.fit.model.launch.seconds() * 1e6,
                            machine.fit.empty_copy.seconds() * 1e6));
  for (std::string& line : about_links(machine.fit.links)) out.push_back(std::move(line));
  for (std::size_t i = 0; i < kDtypes; ++i) {
    bool measured = false;
    for (const MachineMeasurement& each : machine.measurements) {
      const bool gemm = each.kind == MachineMeasurement::Kind::kernel &&
                        each.kernel.kind == OperationKind::matmul;
      measured = measured || (gemm && each.kernel.math == static_cast<Dtype>(i));
    }
    if (!measured || !machine.fit.model.peaks[i]) continue;
    out.push_back(fmt::format("products in {}: {:.4g} TFLOP/s at most",
                              to_string(static_cast<Dtype>(i)),
                              machine.fit.model.peaks[i]->per_second() / 1e12));
  }
  return out;
}

Report residual_report(const MeasuredMachine& machine) {
  Report out;
  out.columns = {{"of", "operation", "", true},
                 {"rows", "rows", "", false},
                 {"median_error_fraction", "median |error|", "(%)", false},
                 {"p90_error_fraction", "p90", "(%)", false},
                 {"mean_error_fraction", "mean", "(%)", false}};
  Section section;
  section.notes = about(machine);
  for (const MachineResidual& each : machine.residuals) {
    section.rows.push_back({Cell{each.of}, Cell{each.rows}, percent(each.median), percent(each.p90),
                            percent(each.bias)});
  }
  out.sections.push_back(std::move(section));
  return out;
}

Report comparison_report(const CalibrateDeviceResult& result) {
  Report out;
  out.columns = {{"group", "group", "", true},
                 {"case", "case", "", true},
                 {"measured_s", "measured", "(us)", false},
                 {"simulated_s", "simulated", "(us)", false},
                 {"error_fraction", "error", "(%)", false}};
  Section section;
  section.notes = about(result.machine);
  for (const MachineComparison& row : result.compared) {
    section.rows.push_back({Cell{row.group}, Cell{row.what}, time_cell(row.measured),
                            time_cell(row.simulated), percent(row.error())});
  }
  for (const char* group : {"collective", "layer", "step", ""}) {
    section.closing.push_back(fmt::format("mean |error| of {}: {:.1f} %",
                                          *group == '\0' ? "all" : group,
                                          100 * mean_error(result.compared, group)));
  }
  section.closing.push_back(
      result.machine.gpus == 1
          ? "ranks of collectives are logical ones that share the device: its memory, no links"
          : "ranks of collectives share one GPU, its memory and no links, where no GPUs are named");
  out.sections.push_back(std::move(section));
  return out;
}

}  // namespace

std::string render_device(const CalibrateDeviceRequest& request,
                          const CalibrateDeviceResult& result, const OutputStyle& style) {
  Report report = request.compares ? comparison_report(result) : residual_report(result.machine);
  report.schema = request.compares ? "lockstep.calibrate.compare/2" : "lockstep.calibrate.device/2";
  report.config = config_of(request);
  return render(report, style);
}

}  // namespace lockstep::cli
