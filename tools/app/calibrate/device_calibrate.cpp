#include "tools/app/calibrate/device_calibrate.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <ctime>

#include "strategies/calibration/machine_file.hpp"
#include "strategies/measure/machine_fit/fit_machine.hpp"
#include "strategies/measure/machine_runs/measure_machine.hpp"
#include "tools/app/errors.hpp"

namespace lockstep::app {

namespace {

[[nodiscard]] std::int64_t multiprocessors_of(const DeviceFacts& facts) {
  for (const auto& [name, value] : facts) {
    if (name == "multiprocessors") return std::max(1L, std::strtol(value.c_str(), nullptr, 10));
  }
  return 1;
}

[[nodiscard]] MeasuredMachine measured(const CalibrateDeviceRequest& request, Backend& backend) {
  MeasuredMachine out;
  const bool host = request.backend == "host";
  out.name = request.name.empty() ? request.backend : request.name;
  out.backend = request.backend;
  out.device = backend.name();
  out.gpus = backend.count();
  out.date = fmt::format("{:%Y-%m-%d}", fmt::gmtime(std::time(nullptr)));
  out.facts = backend.facts();
  MeasureOptions options;
  options.quick = request.quick;
  options.repeats = request.repeats;
  options.before = request.before;
  out.measurements = measure_machine(backend, host, options);
  // To the picosecond, as the file has them, so that it can be fitted again to the same figures.
  for (MachineMeasurement& each : out.measurements) {
    each.seconds = Duration::picoseconds(std::llround(each.seconds * 1e12)).seconds();
  }
  if (request.before) request.before("fitting");
  out.fit = fit_machine(out.measurements, host, multiprocessors_of(out.facts));
  out.residuals = residuals_of(out.measurements, out.fit);
  // What is compared, and what others read: the figures as the file has them.
  return read_machine(parse_json(to_json(out), out.name));
}

}  // namespace

CalibrateDeviceResult calibrate_device(const CalibrateDeviceRequest& request, Backend& backend) {
  CalibrateDeviceResult out{
      request.measures ? measured(request, backend) : load_machine(request.file), {}};
  if (!request.compares) return out;
  if (out.machine.backend != request.backend) {
    throw RequestError(
        "calibration " + request.file,
        fmt::format("it is of a {} backend, not of {}", out.machine.backend, request.backend));
  }
  CompareOptions options;
  options.quick = request.quick;
  options.repeats = request.repeats;
  options.before = request.before;
  out.compared = compare_machine(backend, out.machine, options);
  return out;
}

}  // namespace lockstep::app
