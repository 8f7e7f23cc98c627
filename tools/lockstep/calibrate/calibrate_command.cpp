#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <initializer_list>
#include <memory>

#include "strategies/calibration/machine_file.hpp"
#include "tools/app/calibrate/calibration_document.hpp"
#include "tools/app/calibrate/device_calibrate.hpp"
#include "tools/app/write_file.hpp"
#include "tools/lockstep/calibrate/calibrate_render.hpp"
#include "tools/lockstep/calibrate/device_render.hpp"
#include "tools/lockstep/commands.hpp"
#include "tools/lockstep/options/backend_option.hpp"
#include "tools/lockstep/options/format_option.hpp"
#include "tools/lockstep/options/number_option.hpp"
#include "tools/lockstep/output/errors.hpp"
#include "tools/lockstep/parser/command_parser.hpp"

namespace lockstep::cli {

namespace {

constexpr int kQuickRepeats = 3;

struct Options {
  CalibrateDeviceRequest request;
  std::shared_ptr<BackendOption> backend = std::make_shared<BackendOption>();
  std::string out;
  OutputStyle style;
  std::vector<std::string> from;  // measured results instead of a device
  std::vector<std::string> check;
  CalibrateRequest fit;
};

/// Options of one of the two modes of calibration, given with the other.
void refuse(const Command& command, std::initializer_list<const char*> options,
            const std::string& why) {
  for (const char* option : options) {
    if (command.count(option) > 0) throw UsageError(fmt::format("{} {}", option, why));
  }
}

CalibrateRequest fit_request_of(const Options& given) {
  CalibrateRequest request = given.fit;
  if (request.split && !given.check.empty())
    throw UsageError(
        "--split reserves half of --from as hold-out; it cannot be combined with --check");
  request.from.assign(given.from.begin(), given.from.end());
  request.check.assign(given.check.begin(), given.check.end());
  if (!given.out.empty()) request.name = std::filesystem::path{given.out}.stem().string();
  return request;
}

void calibrate_from(const Command& command, const Options& given) {
  refuse(command,
         {"--backend", "--devices", "--transport", "--compare", "--calibration", "--quick",
          "--repeats"},
         "is for a measured device; it cannot be combined with --from");
  const CalibrateRequest request = fit_request_of(given);
  if (!given.out.empty()) check_writable(given.out);
  const CalibrateResult result = calibrate(request);
  if (!given.out.empty()) write_file(given.out, calibration_text(result.calibration));
  print(render_calibration(request, result, given.style));
}

void calibrate_device(const Command& command, const Options& given) {
  refuse(command, {"--check", "--split", "--runs"}, "requires --from FILE");
  CalibrateDeviceRequest request = given.request;
  request.backend = given.backend->name;
  request.measures = request.file.empty();
  if (request.quick) request.repeats = std::min(request.repeats, kQuickRepeats);
  if (request.backend.empty())
    throw UsageError(
        "calibrate: expected --backend host or --backend cuda, or --from FILE... with measured "
        "results to fit to");
  if (!request.measures && !given.out.empty())
    throw UsageError("--output: with --calibration nothing is measured; omit one of them");
  if (!request.measures && !request.compares) throw UsageError("--calibration requires --compare");
  request.name = std::filesystem::path{given.out}.stem().string();
  request.before = [](const std::string& what) { fmt::print(stderr, "calibrate: {}\n", what); };
  // What is wrong with files is told first, whatever devices there are.
  if (!request.measures) (void)load_machine(request.file);
  if (!given.out.empty()) check_writable(given.out);
  const std::unique_ptr<Backend> backend = given.backend->open();
  const CalibrateDeviceResult result = app::calibrate_device(request, *backend);
  if (!given.out.empty()) write_file(given.out, to_json(result.machine));
  print(render_device(request, result, given.style));
}

void add_sources(const Command& command, const std::shared_ptr<Options>& given) {
  command
      .add_option("--from", given->from,
                  "Files of measured runs, collective tables and device tables "
                  "(configs/schema/measured.schema.json) to fit to, instead of a device")
      ->type_name("FILE");
  command.add_option("--check", given->check, "Files of the same format, used as hold-out only")
      ->type_name("FILE");
  command.add_flag("--split", given->fit.split,
                   "Fit to every second row of each source, by size, and hold out the others");
  add_whole_number(
      command, "--runs", 1, 100'000,
      [given](auto n) { given->fit.runs = static_cast<std::size_t>(n); },
      "Number of training runs of a stack to simulate while fitting its parameters (default 12)");
}

}  // namespace

void add_calibrate(const Command& app) {
  const Command command = app.add_subcommand(
      "calibrate", "Fit device and stack parameters to measurements and print the remaining error");
  const auto given = std::make_shared<Options>();
  add_backend(*command, given->backend,
              "Device to measure: host: this machine's processor and memory; cuda: its GPUs");
  command
      ->add_option("-o,--output", given->out,
                   "Calibration file to write, for --calibration of `run`, e.g. "
                   "configs/calibration/NAME.json")
      ->type_name("FILE");
  command->add_flag(
      "--compare", given->request.compares,
      "Also measure and simulate schedules and small training programs, and print both times");
  command
      ->add_option("--calibration", given->request.file,
                   "With --compare: earlier calibration file to use instead of a new measurement")
      ->type_name("FILE");
  command->add_flag("--quick", given->request.quick, "Measure few sizes, as a trial");
  constexpr int kMostRepeats = 1000;
  add_whole_number(
      *command, "--repeats", 1, kMostRepeats,
      [given](auto n) { given->request.repeats = static_cast<int>(n); },
      "Number of timed runs of each case; the median is used (default 7)");
  add_sources(*command, given);
  add_format(*command, given->style);
  command->footer(
      "Measures copies, kernel launches, reductions, GEMMs and attention over grids of shapes, "
      "all\n"
      "kernels of training steps, and computation during copies, on host and device; with several "
      "GPUs\n"
      "also every pair and NCCL's collectives. Parameters of logical ranks that share a GPU are "
      "marked\n"
      "\"shared\": they describe its memory, not links. Without a GPU, --backend cuda prints "
      "skipped and\n"
      "exits with code 1.\n"
      "\n"
      "--from FILE fits published measurements instead: costs of collectives in addition to their "
      "links,\n"
      "efficiencies of GEMMs and attention, host time per kernel.\n"
      "\n"
      "Examples:\n"
      "  lockstep calibrate --backend host --quick\n"
      "  lockstep calibrate --backend host --quick --compare --format csv\n"
      "  lockstep calibrate --from tests/data/validation/tables.json --split");
  command->resets(given);
  command->resets(given->backend);
  command->callback([given, command] {
    if (given->from.empty())
      calibrate_device(*command, *given);
    else
      calibrate_from(*command, *given);
  });
}

}  // namespace lockstep::cli
