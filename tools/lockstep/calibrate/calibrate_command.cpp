#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>

#include "strategies/box/box_file.hpp"
#include "tools/lockstep/backend_option.hpp"
#include "tools/lockstep/calibrate/device_calibrate.hpp"
#include "tools/lockstep/calibrate/device_render.hpp"
#include "tools/lockstep/commands.hpp"
#include "tools/lockstep/errors.hpp"
#include "tools/lockstep/format_option.hpp"
#include "tools/lockstep/number_option.hpp"
#include "tools/lockstep/write_file.hpp"

namespace lockstep::cli {

namespace {

constexpr int kQuickRepeats = 3;

struct Given {
  DeviceQuestion question;
  std::shared_ptr<BackendOption> backend = std::make_shared<BackendOption>();
  std::string out;
  Format format = Format::table;
};

void calibrate(const Given& given) {
  DeviceQuestion question = given.question;
  question.backend = given.backend->name;
  question.measures = question.file.empty();
  if (question.quick) question.repeats = std::min(question.repeats, kQuickRepeats);
  if (question.backend.empty())
    throw UsageError("calibrate: expected --backend host or --backend cuda");
  if (!question.measures && !given.out.empty())
    throw UsageError("--out: with --calibration nothing is measured anew; leave out one of them");
  if (!question.measures && !question.compares)
    throw UsageError("--calibration goes with --compare");
  question.name = std::filesystem::path{given.out}.stem().string();
  const std::unique_ptr<Backend> backend = given.backend->open();
  const DeviceAnswer answer = calibrate_device(question, *backend);
  if (!given.out.empty()) write_file(given.out, to_json(answer.box));
  print(render_device(question, answer, given.format));
}

}  // namespace

void add_calibrate(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "calibrate", "Measures a device, fits the simulator's figures to it, and shows what is left");
  const auto given = std::make_shared<Given>();
  add_backend(*command, given->backend,
              "What is measured: host: this machine's processor and memory; cuda: its GPUs");
  command
      ->add_option("--out", given->out,
                   "Writes measurements, figures and machine, for --calibration of `run`, such as "
                   "configs/calibration/NAME.json")
      ->type_name("FILE");
  command->add_flag("--compare", given->question.compares,
                    "Then runs schedules and small training programs both ways: measured beside "
                    "simulated");
  command
      ->add_option("--calibration", given->question.file,
                   "With --compare: figures of an earlier calibration instead of a new one")
      ->type_name("FILE");
  command->add_flag("--quick", given->question.quick, "Few sizes, to see that it works");
  constexpr int kMostRepeats = 1000;
  add_whole_number(
      *command, "--repeats", 1, kMostRepeats,
      [given](auto n) { given->question.repeats = static_cast<int>(n); },
      "Timed runs of each case, of which the median counts (default 7)");
  add_format(*command, given->format);
  command->footer(
      "Measured are copies, launches, reductions, products and attention over grids of shapes, "
      "all\n"
      "that training steps are made of, computation beside copies, host and device; on several "
      "GPUs\n"
      "every pair and NCCL's collectives. Figures of logical ranks that share a GPU are marked\n"
      "\"shared\": they say something of its memory, nothing of links. Without a GPU, --backend "
      "cuda\n"
      "ends with exit code 1 and the word skipped.\n\n"
      "Examples:\n"
      "  lockstep calibrate --backend host --quick\n"
      "  lockstep calibrate --backend host --quick --compare --format csv");
  command->callback([given] { calibrate(*given); });
}

}  // namespace lockstep::cli
