#include "tools/lockstep/calibrate/device_calibrate.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <cstdlib>
#include <ctime>

#include "strategies/box/box_file.hpp"
#include "strategies/box/fit_box.hpp"
#include "strategies/box/measure_box.hpp"
#include "tools/lockstep/errors.hpp"

namespace lockstep::cli {

namespace {

void tell(const std::string& what) {
  fmt::print(stderr, "calibrate: {}\n", what);
}

[[nodiscard]] std::int64_t multiprocessors_of(const DeviceFacts& facts) {
  for (const auto& [name, value] : facts) {
    if (name == "multiprocessors") return std::max(1L, std::strtol(value.c_str(), nullptr, 10));
  }
  return 1;
}

[[nodiscard]] Box measured(const DeviceQuestion& question, Backend& backend) {
  Box out;
  const bool host = question.backend == "host";
  out.name = question.name.empty() ? question.backend : question.name;
  out.backend = question.backend;
  out.device = backend.name();
  out.gpus = backend.count();
  out.date = fmt::format("{:%Y-%m-%d}", fmt::gmtime(std::time(nullptr)));
  out.facts = backend.facts();
  MeasureOptions options;
  options.quick = question.quick;
  options.repeats = question.repeats;
  options.before = tell;
  out.measurements = measure_box(backend, host, options);
  tell("fitting");
  out.fit = fit_box(out.measurements, host, multiprocessors_of(out.facts));
  out.residuals = residuals_of(out.measurements, out.fit);
  // What is compared, and what others read: the figures as the file has them.
  return read_box(parse_json(to_json(out), out.name));
}

}  // namespace

DeviceAnswer calibrate_device(const DeviceQuestion& question, Backend& backend) {
  DeviceAnswer out{question.measures ? measured(question, backend) : load_box(question.file), {}};
  if (!question.compares) return out;
  if (out.box.backend != question.backend) {
    throw UsageError(fmt::format("--calibration {}: it is of a {} backend, not of {}",
                                 question.file, out.box.backend, question.backend));
  }
  CompareOptions options;
  options.quick = question.quick;
  options.repeats = question.repeats;
  options.before = tell;
  out.compared = compare_box(backend, out.box, options);
  return out;
}

}  // namespace lockstep::cli
